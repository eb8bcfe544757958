import { DomainError, isDomainError } from "@berth/core";
import { guardedAgent, type PrivateHosts } from "@berth/host";
import type { Dispatcher } from "undici";
import { privateAddress } from "./address.ts";

export type HttpAnswer = Dispatcher.ResponseData;

export interface HttpQuestion {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Sends one request without following redirects. The answer's body must be read or dumped. */
export type GuardedHttp = (url: string, question?: HttpQuestion) => Promise<HttpAnswer>;

const SECONDS_MAX = 60; // Time without receiving any data.

/**
 * HTTP to addresses that a repository or its server names: connects to no private address that is not allowed, checked
 * for each connection.
 */
export async function withGuardedHttp<Result>(
  allowed: PrivateHosts,
  signal: AbortSignal,
  work: (http: GuardedHttp) => Promise<Result>,
): Promise<Result> {
  const timeouts = { headersTimeout: SECONDS_MAX * 1000, bodyTimeout: SECONDS_MAX * 1000 };
  const agent = await guardedAgent(allowed, privateAddress, timeouts);
  try {
    return await work(async (url, { method = "GET", headers = {}, body } = {}) => {
      const { origin, hostname, pathname, search } = new URL(url);
      const host = hostname.replace(/^\[|\]$/g, "");
      try {
        return await agent.request({
          origin,
          path: pathname + search,
          signal,
          method,
          headers,
          ...(body === undefined ? {} : { body }),
        });
      } catch (cause) {
        throw isDomainError(cause) ? cause : brokenOff(host, cause);
      }
    });
  } finally {
    await agent.destroy();
  }
}

/** @param host Name for the message. */
export const brokenOff = (host: string, cause: unknown) =>
  new DomainError(
    "source.unreachable",
    `${host} broke off: ${cause instanceof Error ? cause.message : "no answer"}. Try again later.`,
    { cause },
  );
