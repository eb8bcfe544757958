import type { ResourceRecord, SystemStores } from "@berth/core";
import type { ServerHands } from "./hands.ts";
import type { WorkerDeps } from "./ports.ts";
import { STOP_GRACE_SECONDS } from "./settings.ts";

/**
 * Removes a resource: its deployments end first, then it loses its route, its releases and what the engine and the
 * source keep of it, and its row goes last. Each part may be done again, so a worker that goes away in the middle is
 * followed by one that begins anew.
 *
 * @returns `false` when a deployment has not ended yet: to be called again.
 */
export async function removeResource(
  { stores, source, logger }: WorkerDeps,
  { server, engine, router }: ServerHands,
  resourceId: number,
): Promise<boolean> {
  const resource = await stores.resources.find(resourceId);
  if (resource === undefined || resource.removing_at === null) return true;
  if (!(await cancelDeployments(stores, server.id, resource))) return false;

  await router.unroute(resource.uuid);
  const graceSeconds = await graceOf(stores, resource);
  const records = (await stores.releases.listByServer(server.id)).filter(
    ({ resource_id }) => resource_id === resourceId,
  );
  const seen = (await engine.list()).filter(({ resourceUuid }) => resourceUuid === resource.uuid);
  const uuids = new Set([
    ...records.map((record) => record.deployment_uuid),
    ...seen.map((state) => state.deploymentUuid),
  ]);
  const remove = (deploymentUuid: string) =>
    engine.remove({ resourceUuid: resource.uuid, deploymentUuid }, { graceSeconds });
  await Promise.all([...uuids].map(remove));

  await engine.removeResource(resource.uuid, { deleteVolumes: resource.delete_volumes });
  await source.removeResource(resource.uuid);
  await stores.resources.delete(resourceId);
  logger.info("Resource removed.", { resource: resource.uuid, deletedVolumes: resource.delete_volumes });
  return true;
}

/** Whether none is left. Those in progress are ended by whoever runs them. */
async function cancelDeployments(stores: SystemStores, serverId: number, resource: ResourceRecord): Promise<boolean> {
  const activeOnes = async () =>
    (await stores.deployments.listActive(serverId)).filter(({ resource_id }) => resource_id === resource.id);
  const { deployments } = stores.forTeam(resource.team_id);
  const active = await activeOnes();
  for (const { uuid } of active) await deployments.requestCancel(uuid);
  return active.length === 0 || (await activeOnes()).length === 0;
}

async function graceOf(stores: SystemStores, { id }: ResourceRecord): Promise<number> {
  const found = await stores.resources.application(id);
  return found?.application.settings.stop_grace_period ?? STOP_GRACE_SECONDS;
}
