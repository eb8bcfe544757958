import { DomainError, notFound } from "@berth/core";
import type {
  AccountRecord,
  IdentityProviderRecord,
  ProviderIdentity,
  StoredAttempt,
  SystemStores,
} from "@berth/core/ports";
import {
  ATTEMPT_MINUTES,
  maySignUp,
  nameFromEmail,
  type ProviderBegun,
  type ProviderReturn,
  redirectUri,
  rolesOfGroups,
} from "@berth/core/team";
import { applyGroups } from "./group-membership.ts";
import { emitMemberEvent } from "./member.ts";
import type { SignInDeps } from "./session-open.ts";
import { countWaysIn } from "./ways-in.ts";

const SECRET_LENGTH = 43;

export type ProviderDeps = Pick<SignInDeps, "system" | "providers" | "instanceUrl" | "clock" | "ids" | "hashToken">;

export interface Returned {
  readonly attempt: StoredAttempt;
  readonly provider: IdentityProviderRecord;
  readonly identity: ProviderIdentity;
  /** Lets the browser come back once more, for what it did not send, until the attempt's own end. */
  retain(userId: number): Promise<void>;
}

/** The way to a provider and back. What ties both ends is a secret that the page keeps: the query alone is of no use. */
export function providerAttempts({ system, providers, instanceUrl, clock, ids, hashToken }: ProviderDeps) {
  const { identities } = system;
  const hashOf = (state: string, key: string) => hashToken(`${state}.${key}`);
  return {
    /** @throws DomainError `resource.not_found`, `resource.state` without an own URL, `auth.provider_failed` */
    async begin(providerUuid: string, linkingUserId: number | null): Promise<ProviderBegun> {
      const found = await identities.findProvider(providerUuid);
      const provider = found && (await identities.providerOf(found.id));
      if (provider === undefined) throw notFound("Identity provider");
      if (instanceUrl === null) {
        throw new DomainError("resource.state", "Providers send browsers back by URL: set BERTH_PUBLIC_URL first.");
      }
      const [state, key, nonce, verifier] = Array.from({ length: 4 }, () => ids.secret(SECRET_LENGTH));
      if (state === undefined || key === undefined || nonce === undefined || verifier === undefined) {
        throw new TypeError("Four secrets were asked for.");
      }
      const attempt = { redirectUri: redirectUri(instanceUrl), nonce, verifier };
      const url = await providers.authorizationUrl(provider, { ...attempt, state });
      const expiresAt = new Date(clock.now().getTime() + ATTEMPT_MINUTES * 60_000);
      const links = {
        provider_id: provider.id,
        linking_user_id: linkingUserId,
        found_user_id: null,
        found_subject: null,
      };
      await identities.insertAttempt(hashOf(state, key), { ...attempt, ...links, expiresAt });
      return { url, key };
    },

    /**
     * @param linkingUserId Who began it, for an identity that is connected; `null` for a sign-in.
     * @throws DomainError `auth.provider_expired`, `auth.provider_failed`
     */
    async finish({ key, query }: ProviderReturn, linkingUserId: number | null): Promise<Returned> {
      const state = new URLSearchParams(query).get("state") ?? "";
      const hash = hashOf(state, key);
      const attempt = await identities.takeAttempt(hash);
      const provider = attempt && (await identities.providerOf(attempt.provider_id));
      if (attempt === undefined || provider === undefined || attempt.linking_user_id !== linkingUserId) {
        throw providerExpired();
      }
      const identity =
        attempt.found_subject === null
          ? await providers.identity(provider, { ...attempt, state }, query)
          : { subject: attempt.found_subject, email: null, name: null, groups: null };
      return {
        attempt,
        provider,
        identity,
        retain: (userId) =>
          identities.insertAttempt(hash, { ...attempt, found_user_id: userId, found_subject: identity.subject }),
      };
    },
  };
}

export const providerExpired = () =>
  new DomainError(
    "auth.provider_expired",
    `This sign-in was used, took longer than ${ATTEMPT_MINUTES} minutes, or began in another browser. Begin again.`,
  );

/**
 * The user whom an identity is: one who connected it, or was invited by the address that the provider verified, or whose
 * domain may sign up. A user who has another way in is never taken over by an address: whoever made them may know it.
 *
 * @throws DomainError `auth.sign_up_refused`
 */
export async function userOfIdentity(
  tx: SystemStores,
  provider: IdentityProviderRecord,
  identity: ProviderIdentity,
): Promise<AccountRecord> {
  const user = await foundOrSignedUp(tx, provider, identity);
  if (identity.groups !== null) await applyGroups(tx, provider, user, identity.groups);
  return user;
}

async function foundOrSignedUp(
  tx: SystemStores,
  provider: IdentityProviderRecord,
  { subject, email, name, groups }: ProviderIdentity,
): Promise<AccountRecord> {
  const { accounts, identities } = tx;
  const known = await identities.userOf(provider.id, subject);
  const user = known === undefined ? undefined : await accounts.find(known);
  if (user !== undefined) return user;
  if (email === null || provider.sign_up === "closed") throw refused(provider);
  const found = await accounts.findByEmail(email);
  const account = found === undefined ? await signedUp() : await accounts.lock(found.id);
  if (account === undefined) throw refused(provider);
  if (found !== undefined) {
    const isInvited = account.password_hash === null && (await countWaysIn(tx, account.id)) === 0;
    if (!isInvited) {
      throw new DomainError(
        "auth.sign_up_refused",
        `You have a user with this address. Sign in as before, and connect ${provider.name} under Account.`,
      );
    }
    await accounts.acceptTeams(account.id);
  }
  await identities.insertIdentity({ provider_id: provider.id, subject, user_id: account.id, email });
  return account;

  async function signedUp(): Promise<AccountRecord | undefined> {
    if (email === null) return undefined;
    const user = { email, name: name ?? nameFromEmail(email) };
    const { team_id, sign_up } = provider;
    // Their groups give them teams afterwards.
    if (sign_up === "group") {
      return rolesOfGroups(provider.group_roles, groups ?? []).size === 0 ? undefined : await accounts.signUp(user);
    }
    if (team_id === null || !maySignUp(provider, email)) return undefined;
    const made = await accounts.signUp(user);
    // What groups give in this team follows, and is taken back with them.
    if (rolesOfGroups(provider.group_roles, groups ?? []).has(team_id)) return made;
    await accounts.join(made.id, { team_id, role: "member" }, null);
    const stores = tx.forTeam(team_id, { type: "session", name: made.name, user_id: made.id });
    await emitMemberEvent(stores, "added", team_id, { ...made, role: "member" });
    return made;
  }
}

const refused = ({ name }: IdentityProviderRecord) =>
  new DomainError(
    "auth.sign_up_refused",
    `No user of this instance is connected to your identity at ${name}, and it lets in nobody else. Ask for an invitation, or sign in as before and connect it under Account.`,
  );
