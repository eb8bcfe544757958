import { requireConfirmation, requireRootTeam, type SignInSettings, type SignInSettingsUpdate } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

/** How people sign in to the instance, whichever their team. */
export function signInSettings({ scope, stores }: UseCaseContext) {
  const requireInstance = () => requireRootTeam(scope, "decide how people sign in to the instance");

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
