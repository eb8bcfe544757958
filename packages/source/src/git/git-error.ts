import { DomainError, type ErrorCode } from "@berth/core";
import { formatGitUrl, type GitUrl } from "@berth/core/source";

/** Kinds of failures of an exchange with a repository's server. */
export type GitFailure =
  /** Report this error to the user. */
  | { readonly type: "error"; readonly error: DomainError }
  /** The server named another address: look it up and try there. */
  | { readonly type: "redirected" }
  /** Another process uses the mirror: try again. */
  | { readonly type: "locked" }
  /** The local mirror is damaged: create a new one. */
  | { readonly type: "damaged" };

export interface GitAttempt {
  readonly url: GitUrl;
  readonly hasCredentials: boolean;
  readonly stderr: readonly string[];
}

/**
 * Interprets git's (English) messages. Order matters: the first matching rule is the cause, later messages follow from
 * it.
 */
export function gitFailure(attempt: GitAttempt): GitFailure {
  const text = attempt.stderr.join("\n");
  if (/requested URL returned error: 30\d/.test(text)) return { type: "redirected" };
  const rule = RULES.find(({ pattern }) => pattern.test(text));
  if (rule !== undefined) return failed(attempt, rule.code, rule.say(attempt));
  if (/\.lock'?: File exists|cannot lock ref|Another git process/i.test(text)) return { type: "locked" };
  if (
    /not a git repository|object file .* is empty|bad object|corrupt|bad config|invalid pack|missing blob/i.test(text)
  ) {
    return { type: "damaged" };
  }
  const last = lastFatal(attempt.stderr);
  return failed(attempt, "source.unreachable", `${shown(attempt.url)} could not be fetched: ${last}`);
}

interface GitErrorRule {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  readonly say: (attempt: GitAttempt) => string;
}

const shown = (url: GitUrl) => formatGitUrl(url);

const MISSING_REF = /couldn't find remote ref (\S{1,255})/;

const RULES: readonly GitErrorRule[] = [
  {
    pattern: /No space left on device|Disk quota exceeded/,
    code: "engine.failed",
    say: ({ url }) => `The disk is full, so ${shown(url)} could not be fetched. Free some space and deploy again.`,
  },
  {
    pattern: /Out of memory|out of memory|Cannot allocate memory|malloc failed/,
    code: "source.invalid",
    say: ({ url }) => `${shown(url)} exceeds the memory limit of a fetch. Remove large files, old branches and tags.`,
  },
  {
    pattern: /cannot run ssh/,
    code: "engine.failed",
    say: ({ url }) => `${shown(url)} needs ssh. Install openssh-client on the machine of the control plane.`,
  },
  {
    pattern: /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/,
    code: "source.unreachable",
    say: ({ url }) =>
      `The ssh key of ${url.host} is not the one it had before. If the host was really renewed, ` +
      "remove its line from the known_hosts file in the sources folder and deploy again.",
  },
  {
    pattern: /error in libcrypto|invalid format|incorrect passphrase/,
    code: "source.unauthorized",
    say: ({ url }) =>
      `The private key for ${shown(url)} cannot be read. Add one without a passphrase, in OpenSSH or PEM form.`,
  },
  {
    pattern: /Permission denied \(|Permission denied, please/,
    code: "source.unauthorized",
    say: ({ url, hasCredentials }) =>
      hasCredentials
        ? `${url.host} does not accept the private key for ${shown(url)}. Add its public key there as a deploy key.`
        : `${url.host} asks for a key. Select a private key for ${shown(url)} and add its public key there.`,
  },
  {
    pattern:
      /Authentication failed|could not read (Username|Password)|terminal prompts disabled|returned error: 40[13]/,
    code: "source.unauthorized",
    say: ({ url, hasCredentials }) =>
      hasCredentials
        ? `${url.host} does not accept the login for ${shown(url)}. Check the user name and the token, and that it may read the repository.`
        : `${url.host} asks for a login: ${shown(url)} is private or does not exist. Check the address, or add a login.`,
  },
  {
    pattern:
      /repository .* not found|Repository not found|does not appear to be a git repository|access denied or repository not exported|returned error: (404|410)|project you were looking for could not be found/i,
    code: "source.not_found",
    say: ({ url }) => `No repository found at ${shown(url)}. Check the address and its permissions.`,
  },
  {
    pattern: MISSING_REF,
    code: "source.not_found",
    say: ({ url, stderr }) => {
      const ref = MISSING_REF.exec(stderr.join("\n"))?.[1] ?? "ref";
      return `${shown(url)} has no ${ref}. Check that the branch or pull request is there.`;
    },
  },
  {
    pattern: /SSL certificate problem|certificate verify|server verification failed|SSL_ERROR|gnutls/i,
    code: "source.unreachable",
    say: ({ url, stderr }) => `${url.host} has no certificate that this machine trusts: ${lastFatal(stderr)}`,
  },
  {
    pattern:
      /Could not resolve|unable to connect|Failed to connect|Connection (refused|timed out|reset|closed)|early EOF|RPC failed|Operation too slow|hung up unexpectedly|No route to host|returned error: (429|5\d\d)|unable to access/i,
    code: "source.unreachable",
    say: ({ url, stderr }) => `${url.host || "The repository"} broke off: ${lastFatal(stderr)} Try again later.`,
  },
];

function failed({ stderr }: GitAttempt, code: ErrorCode, message: string): GitFailure {
  // stderr contains no secrets: credentials are neither in the address nor in arguments.
  const cause = new Error(stderr.slice(-20).join("\n"));
  return { type: "error", error: new DomainError(code, message, { cause }) };
}

/** The most specific line, without git's prefix and without the address, which the message already names. */
function lastFatal(stderr: readonly string[]): string {
  const telling = stderr.filter((line) => /^(fatal|error|ssh|remote): ?\S/i.test(line));
  const line =
    telling.find((text) => !/Could not read from remote/.test(text)) ?? stderr.at(-1) ?? "git gave no reason";
  const text = line
    .replace(/^(fatal|error|remote): */i, "")
    .replace(/^unable to access '[^']*': */, "")
    .slice(0, 300);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
