import { notFound } from "@berth/core";
import {
  eventActor,
  type Identity,
  identityView,
  type ProviderBegun,
  type ProviderReturn,
  requireConfirmation,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { ownSession } from "./own-session.ts";
import { providerAttempts } from "./provider-sign-in.ts";
import { removeSignIn } from "./ways-in.ts";

/** Identities of a user at identity providers. */
export function identities(context: UseCaseContext) {
  const { scope, system } = context;
  const attempts = providerAttempts(context);

  return {
    async list(): Promise<Identity[]> {
      return (await system.identities.identities(ownSession(scope).userId)).map(identityView);
    },

    /** @throws DomainError `auth.confirmation_required`, `resource.not_found`, `resource.state`, `auth.provider_failed` */
    async begin(providerUuid: string): Promise<ProviderBegun> {
      const { userId } = ownSession(scope);
      requireConfirmation(scope);
      return await attempts.begin(providerUuid, userId);
    },

    /** @throws DomainError `auth.provider_expired`, `auth.provider_failed`, `resource.already_exists` */
    async connect(sent: ProviderReturn): Promise<Identity[]> {
      const { userId } = ownSession(scope);
      const { provider, identity } = await attempts.finish(sent, userId);
      const { subject, email } = identity;
      await system.transaction(async (tx) => {
        await tx.identities.insertIdentity({ provider_id: provider.id, subject, user_id: userId, email });
        const payload = { user_id: userId, provider: provider.name };
        await tx
          .forTeam(scope.teamId, eventActor(scope.actor))
          .events.append({ type: "user.identity_connected", resource_uuid: null, payload });
      });
      return (await system.identities.identities(userId)).map(identityView);
    },

    /** @throws DomainError `auth.confirmation_required`, `resource.state` if it is the user's only way to sign in */
    async disconnect(providerId: number): Promise<{ message: string }> {
      const { userId } = ownSession(scope);
      requireConfirmation(scope);
      await system.transaction(async (tx) => {
        const found = await removeSignIn(tx, userId, async () => {
          const identity = (await tx.identities.identities(userId)).find(
            ({ provider_id }) => provider_id === providerId,
          );
          if (identity === undefined) throw notFound("Identity");
          await tx.identities.deleteIdentity(userId, providerId);
          return identity;
        });
        const payload = { user_id: userId, provider: found.provider_name };
        await tx
          .forTeam(scope.teamId, eventActor(scope.actor))
          .events.append({ type: "user.identity_disconnected", resource_uuid: null, payload });
      });
      return { message: "Disconnected." };
    },
  };
}
