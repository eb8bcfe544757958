import { jsonProblem } from "@berth/core";
import type { Agent, RequestInit, Response } from "undici";
import { guardedAgent } from "./guarded-agent.ts";
import { HttpFault, privateAddress } from "./http-fault.ts";
import type { PrivateHosts } from "./private-hosts.ts";
import { readAtMost } from "./read-at-most.ts";

export interface GuardedFetchOptions {
  readonly allowedPrivateHosts: PrivateHosts;
  /** Time limit for the whole exchange, including redirects and body. */
  readonly secondsMax: number;
  /** Limit of the body after decompression. The number of values in JSON is limited as well. */
  readonly bytesMax: number;
}

/** Like the platform's `fetch`, but the body has been read completely. @throws HttpFault */
export type GuardedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * HTTP to addresses that users name: connects to no private address that is not allowed. Checked for each connection,
 * so it also covers redirects and names that change.
 */
export function guardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const exchange = guardedExchange(options);
  return (url, init = {}) =>
    exchange(url, init, async (answer, host) => {
      const body = await readAll(answer, options.bytesMax, host);
      // Statuses such as 204 allow no body, not even an empty one.
      const { status, statusText, headers } = answer;
      const { Response } = await library();
      return new Response(body.length === 0 ? null : body, { status, statusText, headers });
    });
}

/** Performs a request and returns what `read` made of the answer, within the time limit. @throws HttpFault */
export function guardedExchange({ allowedPrivateHosts, secondsMax }: GuardedFetchOptions) {
  let agent: Promise<Agent> | undefined;
  return async <Read>(
    url: string | URL,
    init: RequestInit,
    read: (answer: Response, host: string) => Promise<Read>,
  ): Promise<Read> => {
    const { host } = new URL(url);
    const deadline = AbortSignal.timeout(secondsMax * 1000);
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
    try {
      const { fetch } = await library();
      agent ??= guardedAgent(allowedPrivateHosts, privateAddress);
      return await read(await fetch(url, { ...init, dispatcher: await agent, signal }), host);
    } catch (cause) {
      throw faultOf(cause, host, { deadline, signal, secondsMax });
    }
  };
}

const library = () => import("./undici.ts");

async function readAll(answer: Response, bytesMax: number, host: string): Promise<Uint8Array> {
  const body = answer.body === null ? Buffer.alloc(0) : await readAtMost(answer.body, bytesMax);
  if (body === undefined) throw new HttpFault("too_large", host, `${host} answered more than ${bytesMax} bytes.`);
  const isJson =
    /[/+]json/i.test(answer.headers.get("content-type") ?? "") || /^\s*[{[]/.test(body.toString("latin1", 0, 100));
  // Latin-1 is enough: the syntax of JSON is ASCII.
  const problem = isJson ? jsonProblem(body.toString("latin1"), VALUES_MAX) : undefined;
  if (problem !== undefined) throw new HttpFault("too_large", host, `The answer of ${host} is too large. ${problem}`);
  return body;
}

const VALUES_MAX = 50_000; // For comparison: a page of 100 GitHub repositories has some 13,000.

interface Ending {
  readonly deadline: AbortSignal;
  readonly signal: AbortSignal;
  readonly secondsMax: number;
}

function faultOf(cause: unknown, host: string, { deadline, signal, secondsMax }: Ending): HttpFault {
  const own = causesOf(cause).find((one) => one instanceof HttpFault);
  if (own !== undefined) return own;
  if (deadline.aborted) {
    return new HttpFault("timed_out", host, `${host} did not answer within ${secondsMax} seconds.`, { cause });
  }
  if (signal.aborted) return new HttpFault("aborted", host, `The call of ${host} was given up.`, { cause });
  return new HttpFault("broken_off", host, `${host} cannot be reached: ${lastMessage(cause)}.`, { cause });
}

/** `fetch` only says "fetch failed"; the reason is in the chain of causes. */
function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let one = error; one !== undefined && causes.length < 8; one = one instanceof Error ? one.cause : undefined) {
    causes.push(one);
  }
  return causes;
}

function lastMessage(error: unknown): string {
  const last = causesOf(error).findLast((cause) => cause instanceof Error);
  return last instanceof Error && last.message !== "" ? last.message : "no answer";
}
