import { DomainError } from "@berth/core";
import { CLOUD_PROVIDERS, type CloudProviderKind, cloudRetryAfterSeconds } from "@berth/core/server";
import type { PrivateHosts } from "@berth/host";
import { guardedFetch, HttpFault } from "@berth/host";

export interface CloudHttpOptions {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly allowedPrivateHosts: PrivateHosts;
  /** Time limit of one call, until the end of its answer. */
  readonly secondsMax?: number;
  readonly now?: () => Date;
}

export interface CloudRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly path: `/${string}`;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The provider's answer: success, or a refusal with a status from 400 to 499. */
export interface CloudAnswer {
  readonly status: number;
  /** JSON; `undefined` for an empty body, and for a refusal in another format. */
  readonly body: unknown;
}

/** There is no usable answer. */
export interface CloudNoAnswer {
  readonly error: DomainError;
  /** The provider certainly has not executed the request. */
  readonly isUndone: boolean;
}

/** A single call. Redirects are not followed. @throws DomainError `cloud.rate_limited` */
export type CloudHttp = (token: string, question: CloudRequest) => Promise<CloudAnswer | CloudNoAnswer>;

const SECONDS_MAX = 30;
const BYTES_MAX = 4 << 20; // A page of 50 entries has some hundred kilobytes.

export function cloudHttp(kind: CloudProviderKind, options: CloudHttpOptions): CloudHttp {
  const { baseUrl, allowedPrivateHosts, secondsMax = SECONDS_MAX, now = () => new Date() } = options;
  const { title } = CLOUD_PROVIDERS[kind];
  const fetch = guardedFetch({ allowedPrivateHosts, secondsMax, bytesMax: BYTES_MAX });

  return async (token, { method = "GET", path, query = {}, body }) => {
    const url = `${baseUrl}${path}${Object.keys(query).length > 0 ? `?${new URLSearchParams(query)}` : ""}`;
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
    try {
      const {
        status,
        headers: answered,
        ...answer
      } = await readText(
        fetch(url, {
          method,
          redirect: "manual",
          headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      );
      if (status === 429) throw rateLimited(answered, now());
      const isRefusal = status >= 400 && status < 500;
      if (!isRefusal && (status < 200 || status >= 300)) {
        return { error: failed(`${title} answered with status ${status}. Try again later.`), isUndone: false };
      }
      const parsed = parseJson(answer.text);
      if (parsed.isJson || isRefusal) return { status, body: parsed.value };
      return { error: failed(`${title} did not answer with JSON.`), isUndone: false };
    } catch (cause) {
      if (!(cause instanceof HttpFault)) throw cause;
      return { error: failed(`${title} did not answer: ${cause.message}`, cause), isUndone: wasNeverSent(cause) };
    }
  };
}

async function readText(asked: ReturnType<ReturnType<typeof guardedFetch>>) {
  const answer = await asked;
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

function parseJson(text: string): { readonly isJson: boolean; readonly value: unknown } {
  if (text.trim() === "") return { isJson: true, value: undefined };
  try {
    return { isJson: true, value: JSON.parse(text) };
  } catch {
    return { isJson: false, value: undefined };
  }
}

const rateLimited = (headers: { get(name: string): string | null }, now: Date) => {
  const named = { retryAfter: headers.get("retry-after"), reset: headers.get("ratelimit-reset") };
  const retryAfterSeconds = cloudRetryAfterSeconds(named, now);
  return new DomainError("cloud.rate_limited", "Rate limit exceeded. Please try again later.", {
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
};

const failed = (message: string, cause?: unknown) => new DomainError("cloud.failed", message, { cause });

/** For reads, which need an answer. @throws DomainError `cloud.failed` */
export function answered(answer: CloudAnswer | CloudNoAnswer): CloudAnswer {
  if ("error" in answer) throw answer.error;
  return answer;
}

const CONNECT_CODES = new Set([
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"],
]);

function wasNeverSent(fault: HttpFault): boolean {
  if (fault.reason === "private_address") return true;
  for (let cause: unknown = fault.cause; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && CONNECT_CODES.has(cause.code)) return true;
  }
  return false;
}
