import { DomainError } from "@berth/core";
import {
  ROOT_TEAM_ID,
  requireAbility,
  requireConfirmation,
  type SignInSettings,
  type SignInSettingsUpdate,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

/** How people sign in to the instance, whichever their team. */
export function signInSettings({ scope, stores }: UseCaseContext) {
  /** @throws DomainError `auth.root_team_only` */
  function requireInstance() {
    requireAbility(scope, "root");
    if (scope.teamId === ROOT_TEAM_ID) return;
    throw new DomainError("auth.root_team_only", "Only the root team decides how people sign in to the instance.");
  }

  return {
    async get(): Promise<SignInSettings> {
      requireInstance();
      return await stores.settings.signIn();
    },

    async update(change: SignInSettingsUpdate): Promise<SignInSettings> {
      requireInstance();
      requireConfirmation(scope);
      return await stores.transaction(async (tx) => {
        await tx.settings.setSignIn(change);
        const payload = { fields: Object.keys(change) };
        await tx.events.append({ type: "instance.sign_in_changed", resource_uuid: null, payload });
        return await tx.settings.signIn();
      });
    },
  };
}
