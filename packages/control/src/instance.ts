import { DomainError } from "@berth/core";
import { ROOT_TEAM_ID, requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

/** The instance itself. */
export function instance({ scope, stores, reportedVersion }: UseCaseContext) {
  async function setApi(isEnabled: boolean) {
    requireAbility(scope, "root");
    const verb = isEnabled ? "enable" : "disable";
    if (scope.teamId !== ROOT_TEAM_ID) {
      throw new DomainError("auth.root_team_only", `You are not allowed to ${verb} the API.`);
    }
    await stores.transaction(async (tx) => {
      await tx.settings.setApiEnabled(isEnabled);
      await tx.events.append({ type: `instance.api_${verb}d`, resource_uuid: null, payload: {} });
    });
    return { message: `API ${verb}d.` };
  }

  return {
    version(): string {
      requireAbility(scope, "read");
      return reportedVersion;
    },
    enableApi: () => setApi(true),
    disableApi: () => setApi(false),
  };
}
