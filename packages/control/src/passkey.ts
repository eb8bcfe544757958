import { DomainError, invalid, notFound } from "@berth/core";
import type { SystemStores } from "@berth/core/ports";
import {
  type CurrentSession,
  eventActor,
  PASSKEYS_MAX,
  type Passkey,
  type PasskeyCreate,
  type PasskeyCreation,
  type PasskeyRename,
  type PasskeyRequest,
  type PasskeyUse,
  passkeyCreation,
  passkeyHost,
  passkeyView,
  requireConfirmation,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { ownSession, requireOwnPasskeyUsed } from "./own-session.ts";
import { passkeyFailed, passkeyProofs } from "./passkey-proof.ts";
import { currentSession } from "./session-answer.ts";
import { removeSignIn } from "./ways-in.ts";

/** Passkeys of the user who asks. `origin` is that of the page. */
export function passkeys(context: UseCaseContext) {
  const { scope, system, clock, passkeyVerifier } = context;
  const proofs = passkeyProofs(context);

  const emit = (tx: SystemStores, type: string, userId: number, name: string) =>
    tx
      .forTeam(scope.teamId, eventActor(scope.actor))
      .events.append({ type, resource_uuid: null, payload: { user_id: userId, name } });

  /** @throws DomainError `auth.confirmation_required`, `auth.second_factor_missing`, `request.invalid` at the limit */
  async function registering() {
    const { id, userId } = ownSession(scope);
    requireConfirmation(scope);
    await requireOwnPasskeyUsed(system, { id, userId });
    const known = await system.passkeys.list(userId);
    if (known.length >= PASSKEYS_MAX) throw invalid({ _: [`Limit reached: at most ${PASSKEYS_MAX} passkeys.`] });
    return { id, userId, known };
  }

  return {
    async list(): Promise<Passkey[]> {
      return (await system.passkeys.list(ownSession(scope).userId)).map(passkeyView);
    },

    /**
     * @throws DomainError `auth.confirmation_required`, `auth.second_factor_missing`, `resource.state` at an IP address
     */
    async begin(origin: string): Promise<PasskeyCreation> {
      const { userId, known } = await registering();
      const host = passkeyHost(origin);
      const account = await system.accounts.find(userId);
      if (account === undefined) throw notFound("User");
      const user = { handle: proofs.handleOf(userId), email: account.email, name: account.name };
      return passkeyCreation(await proofs.challenge("register", userId), host, user, known);
    },

    /** The session has proved it, too. @throws DomainError `auth.passkey_failed`, `resource.already_exists` */
    async create({ name, credential }: PasskeyCreate, origin: string): Promise<Passkey> {
      const { id, userId } = await registering();
      const key = await passkeyVerifier.registered(credential, origin, proofs.taking("register", userId));
      if (key === undefined) throw passkeyFailed();
      const { transports = [] } = credential.response;
      return await system.transaction(async (tx) => {
        const passkey = await tx.passkeys.insert({ ...key, user_id: userId, name, origin, transports });
        await tx.accounts.confirmSession(id, clock.now(), passkey.id);
        await emit(tx, "user.passkey_added", userId, name);
        return passkeyView(passkey);
      });
    },

    /** @throws DomainError `resource.not_found` */
    async rename({ id, name }: PasskeyRename): Promise<Passkey> {
      const passkey = await system.passkeys.rename(ownSession(scope).userId, id, name);
      if (passkey === undefined) throw notFound("Passkey");
      return passkeyView(passkey);
    },

    /**
     * Sessions that were begun or confirmed with it end, but for the one that asks.
     * @throws DomainError `auth.confirmation_required`, `auth.second_factor_missing`, `resource.not_found`,
     *   `resource.state` if it is the user's only way to sign in
     */
    async remove(id: number): Promise<{ message: string }> {
      const { id: sessionId, userId } = ownSession(scope);
      requireConfirmation(scope);
      await requireOwnPasskeyUsed(system, { id: sessionId, userId });
      await system.transaction(async (tx) => {
        const removed = await removeSignIn(tx, userId, async () => {
          const passkey = await tx.passkeys.delete(userId, id, sessionId);
          if (passkey === undefined) throw notFound("Passkey");
          return passkey;
        });
        await emit(tx, "user.passkey_removed", userId, removed.name);
      });
      return { message: "Passkey removed. Sessions that were begun with it have ended." };
    },

    /** @throws DomainError `resource.state` without a passkey of this address */
    async beginConfirm(origin: string): Promise<PasskeyRequest> {
      const { userId } = ownSession(scope);
      const usable = (await system.passkeys.list(userId)).filter((passkey) => passkey.origin === origin);
      if (usable.length > 0) return await proofs.begin({ purpose: "confirm", userId, origin }, usable);
      throw new DomainError("resource.state", "You have no passkey for this address. Enter your password instead.");
    },

    /** As entering the password does. @throws DomainError `auth.passkey_failed` */
    async confirm(sent: PasskeyUse, origin: string): Promise<CurrentSession> {
      const { id, userId } = ownSession(scope);
      const { passkey, record } = await proofs.check(sent, { purpose: "confirm", userId, origin });
      await system.transaction(async (tx) => {
        await record(tx);
        await tx.accounts.confirmSession(id, clock.now(), passkey.id);
      });
      return await currentSession(system, id, userId, clock.now());
    },
  };
}
