import { hash } from "node:crypto";
import type { Authenticator } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";

/** The stored hash of a token: SHA-256 (hex) of its secret part. */
export const hashOfSecret = (secret: string): string => hash("sha256", secret, "hex");

export interface Credentials {
  readonly hash: string;
  /** Set for the form `<id>|<secret>`; a bare secret has no id. */
  readonly id: number | undefined;
}

/** The token of an `Authorization` header, if it holds one. */
export function credentialsOf(authorization: string | undefined): Credentials | undefined {
  const { id, secret } = authorization?.match(BEARER)?.groups ?? {};
  if (secret === undefined) return undefined;
  return { hash: hashOfSecret(secret), id: id === undefined ? undefined : Number(id) };
}

export interface Identity {
  readonly scope: Scope;
  readonly isApiEnabled: boolean;
}

/** The identity of a token; `undefined` when it is unknown or expired. One query. */
export async function identify(
  authenticator: Authenticator,
  { hash: secretHash, id }: Credentials,
  now: Date,
): Promise<Identity | undefined> {
  const token = await authenticator.findToken(secretHash);
  if (!token || (id !== undefined && id !== token.id)) return undefined;
  if (token.expires_at && token.expires_at <= now) return undefined;
  authenticator.touchToken(token.id, now);
  const { team_id: teamId, user_id: userId, abilities, name, expires_at: expiresAt, role } = token;
  return {
    scope: { teamId, abilities, actor: { type: "token", id: token.id, name, expiresAt, userId, role } },
    isApiEnabled: token.is_api_enabled,
  };
}

const BEARER = /^Bearer +(?:(?<id>\d{1,15})\|)?(?<secret>[^\s|]+) *$/i;
