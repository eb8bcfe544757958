import { clientNetwork, DomainError } from "@berth/core";
import type { Authenticator } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import { type Credentials, credentialsOf, type Identity, identify } from "./auth.ts";
import { BYTE_SHARES, type ByteShares, byteLedger, type HeldBytes } from "./held-bytes.ts";
import { type OPEN_CALLS, type OpenCall, openCalls } from "./open-calls.ts";
import { type Quota, rateLimiter } from "./rate-limit.ts";

export interface AdmissionOptions {
  readonly authenticator: Authenticator;
  /** Requests per minute of a token, or of an address without one. 0: unlimited. */
  readonly requestsPerMinute: number;
  /** Default: `OPEN_CALLS`. */
  readonly openCallLimits?: typeof OPEN_CALLS;
  /** Default: `BYTE_SHARES`. */
  readonly byteShares?: ByteShares;
  readonly now: () => Date;
}

export interface Caller {
  readonly authorization: string | undefined;
  /** Replaces the token: the session of a browser. */
  readonly session: Credentials | undefined;
  readonly ip: string;
  /**
   * Number of calls in this request: more than one in a batch. 0: the caller of a call that is open already is looked up
   * again, which no limit may refuse: their right may be gone.
   */
  readonly calls: number;
  /** Whether this counts as a use of the token. Default: true. */
  readonly isUse?: boolean;
  setHeader(name: string, value: string): void;
}

export interface Admission {
  /**
   * The caller's identity; `undefined` without a valid token, which is no error yet, since some operations are
   * public.
   */
  identify(caller: Caller): Promise<Identity | undefined>;
  /** Counts a request that needs no token. */
  count(caller: Caller): void;
  /** Counts an open call; the returned function ends it. @throws DomainError `rate.limited` */
  enter(kind: OpenCall, scope: Scope): () => void;
  /** Counts the bytes of a request until it is closed. @param ip For a caller without a token. */
  bytesOf(scope: Scope | undefined, ip: string): HeldBytes;
}

/**
 * Identifies callers and limits their requests, with at most one query per request. `identify` and `count` set the
 * headers of the rate limit and throw DomainError `rate.limited`.
 */
export function admission(options: AdmissionOptions): Admission {
  const { authenticator, requestsPerMinute, openCallLimits, byteShares = BYTE_SHARES, now } = options;
  const ledger = byteLedger(byteShares);
  const limiter = requestsPerMinute > 0 ? rateLimiter(requestsPerMinute, now) : undefined;

  function count(key: string, caller: Caller): void {
    if (limiter && caller.calls > 0) enforce(limiter.count(key, caller.calls), caller, now());
  }

  return {
    async identify(caller) {
      const credentials = credentialsOf(caller.authorization) ?? caller.session;
      if (!credentials) {
        count(clientNetwork(caller.ip), caller);
        return undefined;
      }
      // Tokens are counted by their hash, after they were found valid: a known hash is not limited by its address,
      // and guesses beyond the address's limit cost no query.
      if (limiter && !limiter.peek(credentials.hash)) {
        const guesses = limiter.peek(clientNetwork(caller.ip));
        if (guesses && guesses.remaining === 0) count(clientNetwork(caller.ip), caller);
      }
      const identity = await identify(authenticator, credentials, now(), caller.isUse);
      count(identity ? credentials.hash : clientNetwork(caller.ip), caller);
      return identity;
    },
    count: (caller) => count(clientNetwork(caller.ip), caller),
    enter: openCalls(openCallLimits),
    bytesOf(scope, ip) {
      if (scope === undefined) return ledger({ token: ip, team: "of nobody" });
      const { teamId, actor } = scope;
      return ledger({ token: actor.type === "token" ? `${actor.id}` : actor.name, team: `${teamId}` });
    },
  };
}

function enforce({ limit, remaining, isExceeded, resetAt }: Quota, { setHeader }: Caller, now: Date): void {
  setHeader("x-ratelimit-limit", String(limit));
  setHeader("x-ratelimit-remaining", String(remaining));
  if (!isExceeded) return;
  setHeader("x-ratelimit-reset", String(resetAt));
  const retryAfterSeconds = Math.max(1, resetAt - Math.floor(now.getTime() / 1000));
  throw new DomainError("rate.limited", "Too Many Attempts.", { retryAfterSeconds });
}
