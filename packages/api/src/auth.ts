import { hash } from "node:crypto";
import type { Authenticator, FoundToken } from "@berth/core/ports";
import { isConfirmed, type Scope } from "@berth/core/team";

/** The hash under which a token is stored: SHA-256 (hex) of its secret part. */
export const hashOfSecret = (secret: string): string => hash("sha256", secret, "hex");

export interface Credentials {
  readonly hash: string;
  /** Missing for a secret without the `<id>|` before it. */
  readonly id: number | undefined;
  /** Sessions are not accepted in the header of a token, nor tokens in a cookie. */
  readonly kind: FoundToken["kind"];
}

/** The token of an `Authorization` header, if it contains one. */
export function credentialsOf(authorization: string | undefined): Credentials | undefined {
  const { id, secret } = authorization?.match(BEARER)?.groups ?? {};
  if (secret === undefined) return undefined;
  return { hash: hashOfSecret(secret), id: id === undefined ? undefined : Number(id), kind: "api" };
}

/** A session, from the cookie's half `<id>.<secret>` and the page's half, the key. */
export function sessionCredentials(cookie: string, key: string): Credentials | undefined {
  const { id, secret } = cookie.match(SESSION_COOKIE)?.groups ?? {};
  if (secret === undefined || id === undefined || !/^[A-Za-z0-9]{1,100}$/.test(key)) return undefined;
  return { hash: hashOfSecret(`${secret}${key}`), id: Number(id), kind: "session" };
}

const SESSION_COOKIE = /^(?<id>\d{1,15})\.(?<secret>[A-Za-z0-9]{1,100})$/;

export interface Identity {
  readonly scope: Scope;
  readonly isApiEnabled: boolean;
}

/** The identity of a token; `undefined` if it is unknown or expired. One query. */
export async function identify(
  authenticator: Authenticator,
  { hash: secretHash, id, kind }: Credentials,
  now: Date,
  isUse = true,
): Promise<Identity | undefined> {
  const token = await authenticator.findToken(secretHash);
  if (!token || token.kind !== kind || (id !== undefined && id !== token.id)) return undefined;
  if (token.expires_at && token.expires_at <= now) return undefined;
  if (isUse) authenticator.touchToken(token.id, now);
  const { team_id: teamId, user_id: userId, abilities, name, expires_at: expiresAt, role } = token;
  const session =
    kind === "session"
      ? { isConfirmed: isConfirmed(token.confirmed_at, now), lacksSecondFactor: token.lacks_second_factor }
      : undefined;
  return {
    scope: { teamId, abilities, actor: { type: "token", id: token.id, name, expiresAt, userId, role, session } },
    // The switch turns off programs only: a person must be able to turn the API on again.
    isApiEnabled: token.is_api_enabled || session !== undefined,
  };
}

const BEARER = /^Bearer +(?:(?<id>\d{1,15})\|)?(?<secret>[^\s|]+) *$/i;
