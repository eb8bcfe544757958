import { DomainError } from "@berth/core";
import type { GitHostLogin } from "@berth/core/ports";
import { HttpFault } from "@berth/host";

interface Circumstances {
  readonly login: GitHostLogin;
  /** The part that failed: signing with the app's key, a token, a list, one repository, the answer, or the address. */
  readonly about: "origin" | "key" | "token" | "list" | "repository" | "answer";
}

/** The error for a failed call, with a remedy. No message contains tokens or keys. */
export function githubProblem(cause: unknown, { login, about }: Circumstances): DomainError {
  const host = new URL(login.apiUrl).host;
  if (about === "key") return refused("The private key is not an RSA key in PEM form. Use the one from GitHub.", cause);
  if (about === "origin")
    return refused(`The private key is not for ${host}. Send it again in PATCH /security/keys/{uuid}.`, cause);
  const fault = faultBehind(cause);
  if (fault !== undefined) return new DomainError("git_host.failed", fault.message, { cause });
  if (about === "answer" || !isRefusal(cause)) return unreadable(host, cause);
  const waitSeconds = rateLimitSeconds(cause);
  if (waitSeconds !== undefined) {
    const message = `Rate limit of ${host} reached. Try again in ${waitSeconds} seconds.`;
    return new DomainError("rate.limited", message, { retryAfterSeconds: waitSeconds, cause });
  }
  const said = `${host} answered ${cause.status}: ${sentenceOf(cause.message)}`;
  if (cause.status >= 500) return new DomainError("git_host.failed", `${said} Try again later.`, { cause });
  if (about === "token") return refused(`${said} ${TOKEN_ADVICE}`, cause);
  if (cause.status === 401) return refused(`${said} ${TOKEN_ADVICE}`, cause);
  if (about === "repository" && [403, 404].includes(cause.status)) return notAccessible(cause);
  return new DomainError("git_host.failed", said, { cause });
}

const TOKEN_ADVICE = "Check app_id, installation_id and private key of the app.";

const refused = (reason: string, cause: unknown) =>
  new DomainError("git_host.refused", "Failed to generate Github App token.", { details: { reason }, cause });

const notAccessible = (cause: unknown) =>
  new DomainError("git_host.not_found", "Repository not found or not accessible by the GitHub App.", { cause });

const unreadable = (host: string, cause: unknown) =>
  new DomainError("git_host.failed", `${host} does not answer like GitHub's API. Check api_url.`, {
    cause,
  });

/** The library's error for statuses from 300 on. */
interface GithubRefusal extends Error {
  readonly status: number;
  readonly response?: { readonly headers: Readonly<Record<string, string | number | undefined>> };
}

const isRefusal = (error: unknown): error is GithubRefusal =>
  error instanceof Error && "status" in error && typeof error.status === "number" && "response" in error;

/** The library wraps errors of its transport. */
function faultBehind(error: unknown): HttpFault | undefined {
  if (error instanceof HttpFault) return error;
  return error instanceof Error && error.cause instanceof HttpFault ? error.cause : undefined;
}

const WAIT_SECONDS_DEFAULT = 60;
const WAIT_SECONDS_MAX = 3600; // GitHub's rate limits are per hour.

/** Seconds to wait, if the call was refused because of a rate limit. */
function rateLimitSeconds({ status, message, response }: GithubRefusal): number | undefined {
  const headers = response?.headers ?? {};
  const hasNoneLeft = String(headers["x-ratelimit-remaining"] ?? "") === "0";
  const isAbout = headers["retry-after"] !== undefined || hasNoneLeft || /rate limit/i.test(message);
  if (status !== 429 && !(status === 403 && isAbout)) return undefined;
  const retryAfter = Number(headers["retry-after"] ?? Number.NaN);
  const untilReset = Number(headers["x-ratelimit-reset"] ?? Number.NaN) - Date.now() / 1000;
  const seconds = [retryAfter, hasNoneLeft ? untilReset : Number.NaN].find((value) => Number.isFinite(value));
  return Math.min(WAIT_SECONDS_MAX, Math.max(1, Math.ceil(seconds ?? WAIT_SECONDS_DEFAULT)));
}

/** The host's own message, shortened to one line. */
function sentenceOf(message: string): string {
  const text = message
    .replace(/ - https?:\/\/\S+$/, "")
    .replace(/[\s\p{C}]+/gu, " ")
    .trim()
    .slice(0, 200);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
