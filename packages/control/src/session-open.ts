import { DomainError } from "@berth/core";
import type {
  AccountRecord,
  Clock,
  IdentityProviders,
  Ids,
  Mailer,
  PasskeyVerifier,
  PasswordHasher,
  SystemStores,
} from "@berth/core/ports";
import { COOKIE_SECRET_LENGTH, deviceOf, SESSION_IDLE_DAYS, SESSION_KEY_LENGTH, type SignedIn } from "@berth/core/team";
import { currentSession } from "./session-answer.ts";
import type { SignInTries } from "./sign-in-tries.ts";

export interface SignInDeps {
  readonly system: SystemStores;
  readonly passwords: PasswordHasher;
  readonly tries: SignInTries;
  readonly providers: IdentityProviders;
  readonly passkeyVerifier: PasskeyVerifier;
  /** Absent without a mail server. */
  readonly mailer?: Mailer | undefined;
  /** Where providers send browsers back to. */
  readonly instanceUrl: string | null;
  readonly clock: Clock;
  readonly ids: Ids;
  /** SHA-256, hexadecimal. */
  readonly hashToken: (secret: string) => string;
}

/** Where somebody signs in from. */
export interface Visitor {
  readonly address: string;
  readonly userAgent: string | undefined;
}

/** A new session: the cookie's half goes nowhere else. */
export interface OpenedSession {
  readonly cookie: string;
  readonly answer: SignedIn;
}

/**
 * In the team that the user was in last.
 * @param passkeyId Which the user signed in with.
 * @throws DomainError `resource.state` for a user of no team
 */
export async function openInUsualTeam(
  deps: SignInDeps,
  tx: SystemStores,
  account: AccountRecord,
  visitor: Visitor,
  passkeyId: number | null = null,
): Promise<OpenedSession> {
  const [last] = await tx.accounts.sessions(account.id);
  const teams = await tx.accounts.teams(account.id);
  const team = teams.find(({ id }) => id === last?.team_id) ?? teams[0];
  if (team === undefined) {
    throw new DomainError("resource.state", "You are in no team. Ask an administrator of one for an invitation.");
  }
  return await openSession(deps, tx, account, team.id, visitor, passkeyId);
}

export async function openSession(
  { clock, ids, hashToken }: SignInDeps,
  tx: SystemStores,
  account: AccountRecord,
  teamId: number,
  { address, userAgent }: Visitor,
  passkeyId: number | null = null,
): Promise<OpenedSession> {
  const cookieSecret = ids.secret(COOKIE_SECRET_LENGTH);
  const key = ids.secret(SESSION_KEY_LENGTH);
  const now = clock.now();
  const session = await tx.accounts.insertSession({
    team_id: teamId,
    user_id: account.id,
    name: account.name,
    hash: hashToken(`${cookieSecret}${key}`),
    device: deviceOf(userAgent),
    address,
    confirmed_at: now,
    passkey_id: passkeyId,
    expires_at: new Date(now.getTime() + SESSION_IDLE_DAYS * 86_400_000),
  });
  const payload = { user_id: account.id, name: account.name };
  const actor = { type: "session", name: account.name, user_id: account.id } as const;
  await tx.forTeam(teamId, actor).events.append({ type: "session.created", resource_uuid: null, payload });
  return {
    cookie: `${session.id}.${cookieSecret}`,
    answer: { key, session: await currentSession(tx, session.id, account.id, now) },
  };
}
