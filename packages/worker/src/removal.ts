import { DomainError, isDomainError } from "@berth/core";
import type { ReleaseRecord, ResourceRecord, ServerRecord, SystemStores } from "@berth/core/ports";
import { ENGINES } from "@berth/core/server";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { WorkerSettings } from "./settings.ts";
import { stopGraceSeconds } from "./stop-grace.ts";

/**
 * Removes a resource: ends its deployments, then removes its route, its releases and everything that engine and source
 * keep of it, and last its row. Every part may be repeated, so if this worker stops, another one begins anew.
 *
 * Each server that has releases of it removes its own ones. The server that is recorded with it deletes the row, once
 * the others have finished.
 *
 * @returns `false` while a deployment or another server has not ended: call it again.
 */
export async function removeResource(deps: WorkerDeps, adapters: ServerAdapters, resourceId: number): Promise<boolean> {
  const resource = await deps.stores.resources.find(resourceId);
  if (resource === undefined || resource.removing_at === null) return true;
  return await attemptRemoval(deps, removalOf(resource), async () => {
    if (!(await cancelDeployments(deps.stores, resource))) return false;
    await takeFromEngine(deps, adapters, resource);
    if (resource.server_id !== adapters.server.id) {
      for (const { deployment_id } of await releasesOn(deps.stores, adapters.server, resource.id)) {
        await deps.stores.releases.delete(deployment_id);
      }
      return false;
    }
    const waiting = await waitsFor(deps.stores, resource);
    if (waiting !== undefined) return waiting;
    await removeRecord(deps, resource);
    return true;
  });
}

/** Releases of a resource on one server. */
export async function releasesOn(
  stores: SystemStores,
  { id: serverId }: Pick<ServerRecord, "id">,
  resourceId: number,
): Promise<readonly ReleaseRecord[]> {
  const all = await stores.releases.listByResources([resourceId]);
  return all.filter(({ server_id }) => server_id === serverId);
}

/**
 * Why the record of a resource that is being removed stays; `undefined`: it may go.
 * @param pullRequestId Only releases of this pull request are waited for.
 */
export async function waitsFor(
  stores: SystemStores,
  { id, server_id }: Pick<ResourceRecord, "id" | "server_id">,
  pullRequestId?: number,
): Promise<string | undefined> {
  const left = (await stores.releases.listByResources([id])).find(
    (release) =>
      release.server_id !== server_id && (pullRequestId === undefined || release.pull_request_id === pullRequestId),
  );
  if (left === undefined) return undefined;
  const name = (await stores.servers.find(left.server_id))?.name;
  return `Waits until server ${name} has removed its releases too. Bring that server back, or delete it.`;
}

/**
 * Removes a resource of an unreachable server. Objects on its engine wait until it answers, unless the server itself
 * is being given up: then they are left there.
 */
export async function removeOutOfReach(
  deps: WorkerDeps & { readonly settings: WorkerSettings },
  server: ServerRecord,
  signal: AbortSignal,
): Promise<void> {
  const { stores, logger } = deps;
  const resources = (await stores.resources.listRemoving()).filter(({ server_id }) => server_id === server.id);
  for (const resource of resources) {
    if (signal.aborted) return;
    const hasRun = await stores.resources.hasRun(resource.id);
    // It ran on another control plane's machine, which removes it and emits the event.
    if (hasRun && ENGINES[server.engine].isOwnMachineOnly && !deps.ownsServer(server)) continue;
    try {
      await attemptRemoval(deps, removalOf(resource), async () => {
        if (!(await cancelDeployments(stores, resource))) return false;
        if (hasRun && !isGivenUp(deps, server)) throw outOfReach(server);
        await removeRecord(deps, resource);
        return true;
      });
    } catch (error) {
      const report = isDomainError(error, "engine.unreachable") ? logger.debug : logger.warn;
      report("A resource could not be removed.", { resource: resource.uuid, error });
    }
  }
}

const outOfReach = ({ name }: ServerRecord) =>
  new DomainError(
    "engine.unreachable",
    `Server ${name} is not within reach. Its objects are removed once it answers, or with the server.`,
  );

function isGivenUp(
  { clock, settings }: { clock: WorkerDeps["clock"]; settings: WorkerSettings },
  server: ServerRecord,
) {
  if (server.removing_at === null) return false;
  return clock.now().getTime() - server.removing_at.getTime() >= settings.giveUpServerSeconds * 1000;
}

type Removal = Parameters<SystemStores["jobs"]["begin"]>[0];

/**
 * Logs the attempt in the removal's job, which ends with the row.
 * @param remove Returns `false`, or a sentence for people, if something has to end first.
 */
export async function attemptRemoval(
  { stores }: Pick<WorkerDeps, "stores">,
  job: Removal,
  remove: () => Promise<boolean | string>,
): Promise<boolean> {
  await stores.jobs.begin(job);
  try {
    const result = await remove();
    if (result !== true) await stores.jobs.note(job, result || null);
    return result === true;
  } catch (error) {
    const sentence = isDomainError(error) ? error.message : "It failed. Berth's own log has the details.";
    await stores.jobs.note(job, sentence).catch(() => undefined);
    throw error;
  }
}

const removalOf = ({ id }: ResourceRecord): Removal => ({ type: "resource.delete", subject_id: id });

/**
 * Whether no deployment is left, whichever server it is to. Running ones are ended by their own worker.
 * @param pullRequestId Only deployments of this pull request.
 */
export async function cancelDeployments(
  stores: SystemStores,
  { id, team_id }: ResourceRecord,
  pullRequestId?: number,
  { isQueuedKept = false }: { readonly isQueuedKept?: boolean } = {},
): Promise<boolean> {
  const activeOnes = async () =>
    (await stores.deployments.listActiveOf(id)).filter(
      ({ pull_request_id, status }) =>
        (pullRequestId === undefined || pull_request_id === pullRequestId) && !(isQueuedKept && status === "queued"),
    );
  const { deployments } = stores.forTeam(team_id);
  const active = await activeOnes();
  for (const { uuid } of active) await deployments.requestCancel(uuid);
  return active.length === 0 || (await activeOnes()).length === 0;
}

async function takeFromEngine(
  { stores }: WorkerDeps,
  { server, engine, router }: ServerAdapters,
  resource: ResourceRecord,
): Promise<void> {
  const previews = await stores.previews.listByApplication(resource.id);
  for (const pullRequestId of [0, ...previews.map(({ pull_request_id }) => pull_request_id)]) {
    await router.unrouteAll(resource.uuid, pullRequestId);
  }
  const graceSeconds = await stopGraceSeconds(stores, resource.id);
  const records = await releasesOn(stores, server, resource.id);
  const seen = (await engine.list()).filter(({ resourceUuid }) => resourceUuid === resource.uuid);
  const uuids = new Set([
    ...records.map((record) => record.deployment_uuid),
    ...seen.map((state) => state.deploymentUuid),
  ]);
  const kept = { keepsImages: !resource.docker_cleanup, keepsNetworks: !resource.delete_connected_networks };
  const remove = (deploymentUuid: string) =>
    engine.remove({ resourceUuid: resource.uuid, deploymentUuid }, { graceSeconds, ...kept });
  await Promise.all([...uuids].map(remove));
  await engine.removeResource(resource.uuid, { deleteVolumes: resource.delete_volumes, ...kept });
}

async function removeRecord({ stores, source, logger }: WorkerDeps, resource: ResourceRecord): Promise<void> {
  await source.removeResource(resource.uuid);
  await stores.resources.delete(resource.id);
  const { uuid, delete_volumes, docker_cleanup, delete_connected_networks } = resource;
  logger.info("Resource removed.", { resource: uuid, delete_volumes, docker_cleanup, delete_connected_networks });
}
