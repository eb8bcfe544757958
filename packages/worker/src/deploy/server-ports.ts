import type { ApplicationSettings, EngineCapabilities, ReleaseSpec } from "@berth/core";
import { STOP_GRACE_SECONDS } from "../settings.ts";
import type { StepContext } from "./context.ts";

/** Whether releases of an application hold ports of the server, which only one can at a time. */
export const holdsServerPorts = (
  { port_mappings }: Pick<EngineCapabilities, "port_mappings">,
  settings: Pick<ApplicationSettings, "ports_mappings"> | undefined,
): boolean => port_mappings && (settings?.ports_mappings ?? null) !== null;

/** Stops the live release where the candidate needs its ports. When the deployment fails, the reconciler starts it again. */
export async function freeServerPorts(ctx: StepContext, { container }: ReleaseSpec): Promise<void> {
  const { hands, stores, deployment, application, say } = ctx;
  const ports = (container?.portMappings ?? []).map(({ serverPort }) => serverPort);
  if (!hands.engine.capabilities.port_mappings || ports.length === 0) return;
  const live = await stores.releases.live(deployment.resource_id, deployment.pull_request_id);
  if (live === undefined || live.deployment_id === deployment.id) return;
  say(`Stops the release before it, since only one can hold port ${ports.join(", ")} of the server.`);
  const ref = { resourceUuid: live.resource_uuid, deploymentUuid: live.deployment_uuid };
  await hands.engine.stop(ref, { graceSeconds: application.settings.stop_grace_period ?? STOP_GRACE_SECONDS });
}
