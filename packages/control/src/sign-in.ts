import { DomainError, invalid, isDomainError } from "@berth/core";
import type { AccountRecord, Mail, SignInLinkRecord, SystemStores } from "@berth/core/ports";
import {
  type LinkInspect,
  type LinkPassword,
  type LinkRedeem,
  type LinkRequest,
  NewPassword,
  type PasskeyRequest,
  type PasskeyUse,
  type ProviderBegun,
  type ProviderChoice,
  type ProviderSignIn,
  passwordResetMail,
  type SignIn,
  type SignInLink,
  type SignInMethods,
} from "@berth/core/team";
import { passkeyFailed, passkeyProofs } from "./passkey-proof.ts";
import { providerAttempts, providerExpired, userOfIdentity } from "./provider-sign-in.ts";
import { requireSecondFactor } from "./second-factor.ts";
import { type OpenedSession, openInUsualTeam, openSession, type SignInDeps, type Visitor } from "./session-open.ts";
import { insertSignInLink } from "./sign-in-link.ts";
import { countWaysIn, endWaysIn } from "./ways-in.ts";

/** Sign-ins, which have no scope yet. */
export interface SignIns {
  /** @throws DomainError `auth.sign_in_failed`, `auth.second_factor_required`, `rate.limited`, `resource.state` for a user of no team */
  signIn(sent: SignIn, visitor: Visitor): Promise<OpenedSession>;
  methods(): SignInMethods;
  /**
   * Mails a sign-in link to the user with this address, if there is one: the answer is the same.
   * @throws DomainError `rate.limited`, `resource.state` without a mail server
   */
  requestLink(sent: LinkRequest, visitor: Visitor): Promise<{ message: string }>;
  /** @throws DomainError `auth.link_invalid` */
  inspectLink(sent: LinkInspect): Promise<SignInLink>;
  /** @throws DomainError `auth.link_invalid`, `auth.sign_in_failed`, `request.invalid`, `rate.limited` */
  redeemLink(sent: LinkRedeem, visitor: Visitor): Promise<OpenedSession>;
  /** @param origin Of the page. @throws DomainError `resource.state` at an IP address */
  beginWithPasskey(origin: string): Promise<PasskeyRequest>;
  /** @throws DomainError `auth.passkey_failed`, `rate.limited`, `resource.state` for a user of no team */
  signInWithPasskey(sent: PasskeyUse, origin: string, visitor: Visitor): Promise<OpenedSession>;
  providers(): Promise<ProviderChoice[]>;
  /** @throws DomainError `resource.not_found`, `resource.state`, `auth.provider_failed` */
  beginAtProvider(uuid: string): Promise<ProviderBegun>;
  /** @throws DomainError `auth.provider_expired`, `auth.provider_failed`, `auth.sign_up_refused`, `auth.second_factor_required` */
  finishAtProvider(sent: ProviderSignIn, visitor: Visitor): Promise<OpenedSession>;
}

export function signIns(deps: SignInDeps): SignIns {
  const { system, passwords, tries, hashToken } = deps;

  async function found(code: string) {
    const link = await system.accounts.findLink(hashToken(code));
    const account = link && (await system.accounts.find(link.user_id));
    if (link === undefined || account === undefined) throw linkInvalid();
    return { link, account, password: await askedBy(system, link, account) };
  }

  const attempts = providerAttempts(deps);
  const proofs = passkeyProofs(deps);

  return {
    beginWithPasskey: (origin) => proofs.begin({ purpose: "sign-in", userId: null, origin }, []),

    async signInWithPasskey(sent, origin, visitor) {
      const account = `passkey ${sent.credential.id}`;
      tries.enter(account, visitor.address);
      const { passkey, record } = await proofs.check(sent, { purpose: "sign-in", userId: null, origin });
      tries.succeed(account, visitor.address);
      return await system.transaction(async (tx) => {
        await record(tx);
        const user = await tx.accounts.find(passkey.user_id);
        if (user === undefined) throw passkeyFailed();
        return await openInUsualTeam(deps, tx, user, visitor, passkey.id);
      });
    },

    async providers() {
      return (await system.identities.providers()).map(({ uuid, name }) => ({ uuid, name }));
    },

    beginAtProvider: (uuid) => attempts.begin(uuid, null),

    async finishAtProvider({ code, ...sent }, visitor) {
      const returned = await attempts.finish(sent, null);
      const account = await foundAtProvider(returned);
      try {
        await requireSecondFactor(deps, account.id, code);
      } catch (error) {
        // The provider's answer works once: the browser comes back with the code alone.
        if (isDomainError(error)) await returned.retain(account.id);
        throw error;
      }
      return await system.transaction((tx) => openInUsualTeam(deps, tx, account, visitor));
    },

    async signIn({ email, password, code }, visitor) {
      tries.enter(email, visitor.address);
      const account = await system.accounts.findByEmail(email);
      // An unknown address takes the same time and gets the same answer.
      const isRight = await passwords.verify(password, account?.password_hash ?? null);
      if (account === undefined || !isRight) throw signInFailed();
      // A missing code is no guess; a wrong one stays counted.
      await requireSecondFactor(deps, account.id, code, () => tries.retract(email, visitor.address));
      tries.succeed(email, visitor.address);
      return await system.transaction((tx) => openInUsualTeam(deps, tx, account, visitor));
    },

    methods: () => ({ mailed_link: deps.mailer !== undefined }),

    async requestLink({ email }, { address }) {
      const { mailer } = deps;
      if (mailer === undefined) {
        throw new DomainError(
          "resource.state",
          "This instance sends no mail. Ask an administrator of your team for a sign-in link.",
        );
      }
      tries.enter(`mail ${email}`, address);
      mailer.send(() => mailedLink(email));
      return { message: `If ${email} is a user's address, a mail with a sign-in link is on its way.` };
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
          await endWaysIn(tx, account.id);
          await tx.accounts.setPassword(account.id, fresh);
          await tx.accounts.deleteSessions(account.id, undefined);
        }
        await tx.accounts.acceptTeam(account.id, link.team_id);
        await tx.accounts.deleteLinks(account.id, link.team_id);
        return await openSession(deps, tx, account, link.team_id, visitor);
      });
    },
  };

  /** Only who reads the mailbox knows the link, so it replaces a password that was lost. */
  async function mailedLink(email: string): Promise<Mail | undefined> {
    const account = await system.accounts.findByEmail(email);
    if (account === undefined) return undefined;
    const [last] = await system.accounts.sessions(account.id);
    const teams = await system.accounts.teams(account.id);
    const team = teams.find(({ id }) => id === last?.team_id) ?? teams[0];
    if (team === undefined || !tries.enterMail(account.id)) return undefined;
    const actor = { type: "system", name: "Sign-in page", user_id: null } as const;
    const link = { user_id: account.id, team_id: team.id, replaces_password: account.password_hash !== null };
    const { url } = await system
      .forTeam(team.id, actor)
      .transaction((tx) => insertSignInLink(deps, tx, link, account.name));
    return url === null ? undefined : passwordResetMail({ to: account.email, url, teamName: team.name });
  }

  async function foundAtProvider(returned: Awaited<ReturnType<typeof attempts.finish>>): Promise<AccountRecord> {
    const { attempt, provider, identity } = returned;
    if (attempt.found_user_id === null) {
      return await system.transaction((tx) => userOfIdentity(tx, provider, identity));
    }
    // The identity may have been disconnected, or connected to somebody else, while its user looked for a code.
    const userId = await system.identities.userOf(provider.id, identity.subject);
    const account = userId === attempt.found_user_id ? await system.accounts.find(userId) : undefined;
    if (account === undefined) throw providerExpired();
    return account;
  }

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
 * first one for a user whom another team added before, unless the operator of the instance created it.
 * @throws DomainError `auth.link_invalid`
 */
async function askedBy(
  stores: Pick<SystemStores, "accounts" | "identities" | "passkeys">,
  link: SignInLinkRecord,
  { id, password_hash }: AccountRecord,
): Promise<LinkPassword> {
  if (password_hash !== null) return link.replaces_password ? "optional" : "enter";
  if (link.replaces_password) return "choose";
  // Who made the link may still have it, and would choose the password of somebody who signs in elsewhere.
  if ((await countWaysIn(stores, id)) > 0) {
    throw new DomainError(
      "auth.link_invalid",
      "You sign in with a passkey or at a provider: choose it on the sign-in page.",
    );
  }
  if (!(await stores.accounts.hasEarlierTeam(id, link.team_id))) return "choose";
  throw new DomainError(
    "auth.link_invalid",
    "You have no password yet, and another team added you first. Use the link of that team, or ask who runs this instance for one.",
  );
}
