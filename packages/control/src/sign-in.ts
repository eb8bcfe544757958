import { DomainError, invalid } from "@berth/core";
import type { AccountRecord, Clock, Ids, PasswordHasher, SignInLinkRecord, SystemStores } from "@berth/core/ports";
import {
  COOKIE_SECRET_LENGTH,
  deviceOf,
  type LinkInspect,
  type LinkPassword,
  type LinkRedeem,
  NewPassword,
  SESSION_IDLE_DAYS,
  SESSION_KEY_LENGTH,
  type SignedIn,
  type SignIn,
  type SignInLink,
} from "@berth/core/team";
import { requireSecondFactor } from "./second-factor.ts";
import { currentSession } from "./session-answer.ts";
import type { SignInTries } from "./sign-in-tries.ts";

export interface SignInDeps {
  readonly system: SystemStores;
  readonly passwords: PasswordHasher;
  readonly tries: SignInTries;
  readonly clock: Clock;
  readonly ids: Ids;
  /** SHA-256, hexadecimal. */
  readonly hashToken: (secret: string) => string;
}

/** Where a sign-in comes from. */
export interface Visitor {
  readonly address: string;
  readonly userAgent: string | undefined;
}

/** A new session. The secret half for the cookie must not be sent anywhere else. */
export interface OpenedSession {
  readonly cookie: string;
  readonly answer: SignedIn;
}

/** Sign-ins, which have no scope yet. */
export interface SignIns {
  /** @throws DomainError `auth.sign_in_failed`, `auth.second_factor_required`, `rate.limited`, `resource.state` for a user of no team */
  signIn(sent: SignIn, visitor: Visitor): Promise<OpenedSession>;
  /** @throws DomainError `auth.link_invalid` */
  inspectLink(sent: LinkInspect): Promise<SignInLink>;
  /** @throws DomainError `auth.link_invalid`, `auth.sign_in_failed`, `request.invalid`, `rate.limited` */
  redeemLink(sent: LinkRedeem, visitor: Visitor): Promise<OpenedSession>;
}

export function signIns(deps: SignInDeps): SignIns {
  const { system, passwords, tries, hashToken } = deps;

  async function found(code: string) {
    const link = await system.accounts.findLink(hashToken(code));
    const account = link && (await system.accounts.find(link.user_id));
    if (link === undefined || account === undefined) throw linkInvalid();
    return { link, account, password: await askedBy(system, link, account) };
  }

  return {
    async signIn({ email, password, code }, visitor) {
      tries.enter(email, visitor.address);
      const account = await system.accounts.findByEmail(email);
      // An unknown address takes the same time and gets the same answer.
      const isRight = await passwords.verify(password, account?.password_hash ?? null);
      if (account === undefined || !isRight) throw signInFailed();
      // A missing code is no guess; a wrong one stays counted.
      await requireSecondFactor(deps, account.id, code, () => tries.retract(email, visitor.address));
      tries.succeed(email, visitor.address);
      return await system.transaction(async (tx) => {
        const [last] = await tx.accounts.sessions(account.id);
        const teams = await tx.accounts.teams(account.id);
        const team = teams.find(({ id }) => id === last?.team_id) ?? teams[0];
        if (team === undefined) {
          throw new DomainError("resource.state", "You are in no team. Ask an administrator of one for an invitation.");
        }
        return await open(deps, tx, account, team.id, visitor);
      });
    },

    async inspectLink({ code }) {
      const { link, account, password } = await found(code);
      const team_name = await system.accounts.teamName(link.team_id);
      if (team_name === undefined) throw linkInvalid();
      return { name: account.name, email: account.email, team_name, password };
    },

    async redeemLink({ code, password, second_factor_code }, visitor) {
      const { account: before, password: asked } = await found(code);
      if (password === undefined && asked !== "optional") throw invalid({ password: ["Enter a password."] });
      const isCounted = asked === "enter";
      if (isCounted) {
        tries.enter(before.email, visitor.address);
        if (!(await passwords.verify(password ?? "", before.password_hash))) throw signInFailed();
      }
      await requireSecondFactor(deps, before.id, second_factor_code, () => {
        if (isCounted) tries.retract(before.email, visitor.address);
      });
      if (isCounted) tries.succeed(before.email, visitor.address);
      const fresh = asked === "enter" || password === undefined ? undefined : await hashed(password);
      return await system.transaction(async (tx) => {
        const account = await tx.accounts.lock(before.id);
        const link = await tx.accounts.findLink(hashToken(code));
        if (account === undefined || link === undefined) throw linkInvalid();
        // Another link may have been redeemed in between, or the password may have changed.
        if (account.password_hash !== before.password_hash) throw linkInvalid();
        if ((await askedBy(tx, link, account)) !== asked) throw linkInvalid();
        if (fresh !== undefined) {
          await tx.accounts.setPassword(account.id, fresh);
          await tx.accounts.deleteSessions(account.id, undefined);
        }
        await tx.accounts.acceptTeam(account.id, link.team_id);
        await tx.accounts.deleteLinks(account.id, link.team_id);
        return await open(deps, tx, account, link.team_id, visitor);
      });
    },
  };

  async function hashed(password: string): Promise<string> {
    const { error } = NewPassword.safeParse(password);
    if (error) throw invalid({ password: error.issues.map(({ message }) => message) });
    return await passwords.hash(password);
  }
}

export const signInFailed = () => new DomainError("auth.sign_in_failed", "The email address or the password is wrong.");

const linkInvalid = () =>
  new DomainError(
    "auth.link_invalid",
    "This link is unknown, was used, or has expired. Ask who sent it for a new one, or run berth login --web.",
  );

/**
 * What the opener of a link is asked for. The link's creator knows it too, so it cannot replace a password, nor set a
 * first one for a user of other teams, unless the operator of the instance created it.
 * @throws DomainError `auth.link_invalid`
 */
async function askedBy(
  { accounts }: Pick<SystemStores, "accounts">,
  link: SignInLinkRecord,
  { id, password_hash }: AccountRecord,
): Promise<LinkPassword> {
  if (password_hash !== null) return link.replaces_password ? "optional" : "enter";
  if (link.replaces_password) return "choose";
  const others = (await accounts.teams(id)).filter((team) => team.id !== link.team_id);
  if (others.length === 0) return "choose";
  throw new DomainError(
    "auth.link_invalid",
    "You have no password yet and are in other teams. Ask who runs this instance for a link.",
  );
}

async function open(
  { clock, ids, hashToken }: SignInDeps,
  tx: SystemStores,
  account: AccountRecord,
  teamId: number,
  { address, userAgent }: Visitor,
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
