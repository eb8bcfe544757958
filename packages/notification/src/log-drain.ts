import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { DrainResult, LogDrainSender } from "@berth/core/ports";
import { type DrainedLine, type LogDrain, logDrainRequest } from "@berth/core/server";
import { guardedExchange, HttpFault, type PrivateHosts, readAtMost, redactor } from "@berth/host";
import { jsonObject, retryAfterOf, saidBy, wordsOf } from "./said.ts";

export interface LogDrainSenderOptions {
  readonly allowedPrivateHosts: PrivateHosts;
  /** In place of Axiom's own address: a gateway, or a stand-in. */
  readonly axiomUrl?: string | undefined;
  /** Time limit of one try. */
  readonly secondsMax?: number;
}

const AXIOM_URL = "https://api.axiom.co";
const SECONDS_MAX = 30;
const ANSWER_BYTES_MAX = 64 * 1024;
const compressed = promisify(gzip);

/** Sends batches to log drains. Private addresses are called only if they are allowed. */
export function logDrainSender(options: LogDrainSenderOptions): LogDrainSender {
  const { allowedPrivateHosts, axiomUrl = AXIOM_URL, secondsMax = SECONDS_MAX } = options;
  const exchange = guardedExchange({ allowedPrivateHosts, secondsMax, bytesMax: ANSWER_BYTES_MAX });

  const send = async (drain: LogDrain, lines: readonly DrainedLine[]): Promise<DrainResult> => {
    const { url, headers, body, isCompressed } = logDrainRequest(drain, lines, axiomUrl);
    const init = {
      method: "POST",
      // A redirect could lead elsewhere with the key and the lines.
      redirect: "manual" as const,
      headers: { ...headers, "user-agent": "Berth", ...(isCompressed && { "content-encoding": "gzip" }) },
      body: isCompressed ? await compressed(body) : body,
    };
    return await exchange(url, init, async (answer, host): Promise<DrainResult> => {
      const said = answer.body === null ? undefined : await readAtMost(answer.body, ANSWER_BYTES_MAX);
      const text = withoutSecrets(said?.toString("utf8") ?? "", drain);
      const name = drain.type === "custom" ? host : NAMES[drain.type];
      if (answer.ok) return acceptedBy(drain, name, text);
      return refusalOf(name, answer, text);
    });
  };

  return (drain, lines) => send(drain, lines).catch(faultOf);
}

const NAMES = { newrelic: "New Relic", axiom: "Axiom" } as const;

/** Axiom accepts a batch whose lines it did not all store. */
function acceptedBy({ type }: LogDrain, name: string, text: string): DrainResult {
  const { failed, failures } = type === "axiom" ? jsonObject(text) : {};
  const refused = typeof failed === "number" && failed > 0 ? failed : 0;
  if (refused === 0) return { isDelivered: true, refused };
  const { error }: { readonly error?: unknown } = Array.isArray(failures) ? Object(failures[0]) : {};
  const reason = typeof error === "string" ? `: ${wordsOf(error)}` : ".";
  return { isDelivered: true, refused, problem: `${name} did not store some lines${reason}` };
}

interface Answer {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
}

function refusalOf(name: string, { status, headers }: Answer, text: string): DrainResult {
  const isRedirect = status >= 300 && status < 400;
  const { words } = saidBy(text);
  return {
    isDelivered: false,
    problem: isRedirect
      ? `${name} answered ${status}, a redirect, which is not followed. Set the address that it names.`
      : `${name} answered ${status}${words === "" ? "." : `: ${words}`}`,
    kind: String(status),
    cause: CAUSES[status] ?? "receiver",
    retryAfterSeconds: retryAfterOf(headers.get("retry-after")),
  };
}

/** Statuses that are about the batch, not about its receiver. */
const CAUSES: Readonly<Record<number, "content" | "size">> = { 400: "content", 413: "size", 422: "content" };

const faultOf = (fault: unknown): DrainResult => ({
  isDelivered: false,
  problem: wordsOf(fault instanceof Error ? fault.message : String(fault)),
  kind: fault instanceof HttpFault ? fault.reason : "failed",
  cause: "receiver",
});

/** A receiver may repeat what was sent to it, in any encoding. Its answer is one text, which is not split. */
const withoutSecrets = (text: string, drain: LogDrain): string => redactor(secretsOf(drain))(text);

function secretsOf(drain: LogDrain): readonly string[] {
  if (drain.type === "newrelic") return [drain.licenseKey];
  if (drain.type === "axiom") return [drain.apiKey];
  const { url, headers } = drain.output;
  const { authorization = "", "content-type": _contentType, ...others } = headers;
  const [, scheme, credential = ""] = /^(Basic|Bearer)\s+(.*)$/.exec(authorization) ?? [];
  const login = scheme === "Basic" ? atob(credential) : "";
  // Many receivers have their key in the address.
  const { pathname, search, searchParams } = new URL(url);
  const path = [pathname + search, ...pathname.split("/").filter(isLikeKey), ...searchParams.values()];
  return [credential, login, login.slice(login.indexOf(":") + 1), ...Object.values(others), ...path];
}

/** Shorter parts of a path are words, such as `collector`. */
const isLikeKey = (part: string): boolean => part.length >= 12;
