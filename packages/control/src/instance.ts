import { VERSION } from "@berth/core";
import {
  type InstanceSettings,
  type InstanceSettingsUpdate,
  requireAbility,
  requireConfirmation,
  requireRootTeam,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

/** The instance itself. */
export function instance({ scope, stores, reportedVersion }: UseCaseContext) {
  async function setApi(isEnabled: boolean) {
    const verb = isEnabled ? "enable" : "disable";
    requireRootTeam(scope, `${verb} the API`);
    requireConfirmation(scope);
    await stores.transaction(async (tx) => {
      await tx.settings.setApiEnabled(isEnabled);
      await tx.events.append({ type: `instance.api_${verb}d`, resource_uuid: null, payload: {} });
    });
    return { message: `API ${verb}d.` };
  }

  const settings = async (): Promise<InstanceSettings> => ({
    version: VERSION,
    reported_version: await stores.settings.reportedVersion(),
  });

  return {
    async version(): Promise<string> {
      requireAbility(scope, "read");
      return (await stores.settings.reportedVersion()) ?? reportedVersion;
    },
    enableApi: () => setApi(true),
    disableApi: () => setApi(false),

    /** @throws DomainError `auth.root_team_only` */
    async settings(): Promise<InstanceSettings> {
      requireRootTeam(scope, "read or change the settings of the instance");
      return settings();
    },

    /** @throws DomainError `auth.root_team_only`, `auth.confirmation_required` */
    async updateSettings({ reported_version }: InstanceSettingsUpdate): Promise<InstanceSettings> {
      requireRootTeam(scope, "read or change the settings of the instance");
      requireConfirmation(scope);
      if (reported_version !== undefined) {
        await stores.transaction(async (tx) => {
          await tx.settings.setReportedVersion(reported_version);
          const payload = { reported_version };
          await tx.events.append({ type: "instance.settings_changed", resource_uuid: null, payload });
        });
      }
      return settings();
    },
  };
}
