import { randomBytes } from "node:crypto";
import { isDatabaseUnavailable, isDomainError } from "@berth/core";
import type { JobLease, ServerRecord, SystemStores } from "@berth/core/ports";
import { timesOf } from "@berth/core/schedule";
import { type CleanupOperation, isCleanupNeeded, planCleanup, type ServerCleaner } from "@berth/core/server";
import type { WorkerDeps } from "./ports.ts";
import type { WorkerSettings } from "./settings.ts";

export interface CleanupDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
}

/** Plans the cleanup of a server; `undefined` when its engine has nothing to clean up. */
export async function planServerCleanup(
  { stores, cleanerFor }: Pick<WorkerDeps, "stores" | "cleanerFor">,
  server: ServerRecord,
): Promise<readonly CleanupOperation[] | undefined> {
  const cleaner = cleanerFor?.(server);
  return cleaner === undefined ? undefined : await planFor(stores, cleaner, server);
}

async function planFor(stores: SystemStores, cleaner: ServerCleaner, server: ServerRecord) {
  // Read first: objects recorded after this observation are not part of it.
  const seen = await cleaner.observe();
  // A node has containers, images and volumes of what is recorded on the server that manages its cluster.
  const ids = [...new Set([server.id, server.swarm_cluster ?? server.id])];
  const ofAll = async <T>(read: (id: number) => Promise<readonly T[]>) => (await Promise.all(ids.map(read))).flat();
  const uuids = new Set(seen.flatMap(({ resourceUuid }) => resourceUuid ?? []));
  const [own, existing, active, building, releases, resources, removing, destinations] = await Promise.all([
    stores.resources.everRecorded(uuids),
    stores.resources.existing(uuids),
    ofAll((id) => stores.deployments.listActive(id)),
    stores.deployments.listBuilding(ids),
    ofAll((id) => stores.releases.listByServer(id)),
    ofAll((id) => stores.resources.listByServer(id)),
    stores.resources.listRemoving(),
    ofAll(async (id) => (await stores.forTeam(server.team_id).destinations.list({ server_id: id })).items),
  ]);
  const recorded = {
    instance: cleaner.instance,
    own,
    existing,
    resources: new Set([
      ...[...resources, ...removing].map(({ uuid }) => uuid),
      ...releases.map(({ resource_uuid }) => resource_uuid),
    ]),
    deployments: new Set([
      ...building.map(({ uuid }) => uuid),
      ...active.flatMap(({ uuid, rollback_to }) => (rollback_to === null ? [uuid] : [uuid, rollback_to])),
      ...releases.flatMap(({ deployment_uuid, built_by }) => [deployment_uuid, built_by]),
    ]),
    networks: new Set(destinations.map(({ network }) => network)),
  };
  return planCleanup(seen, recorded, server.settings);
}

/** Cleans up a server and ends the job. */
export async function cleanServer(deps: CleanupDeps, lease: JobLease, serverId: number): Promise<void> {
  const { stores, logger } = deps;
  const server = await stores.servers.find(serverId);
  try {
    const cleaner = server && deps.cleanerFor?.(server);
    if (server === undefined || cleaner === undefined) {
      const sentence = server === undefined ? "The server was deleted in the meantime." : "It has nothing to clean up.";
      await stores.jobs.finish(lease, "failed", sentence);
      return;
    }
    const counts = { removed: 0, gone: 0, stays: 0 };
    for (const operation of await planFor(stores, cleaner, server)) {
      const outcome = await cleaner.remove(operation);
      counts[outcome] += 1;
      logger.debug("Cleaned up.", { server: server.name, type: operation.type, name: operation.name, outcome });
    }
    await stores.jobs.finish(lease, "finished", null);
    logger.info("Server cleaned up.", { server: server.name, ...counts });
  } catch (error) {
    if (!isDomainError(error) || isDatabaseUnavailable(error)) throw error;
    await stores.jobs.finish(lease, "failed", error.message);
  }
}

/** When a server's next cleanup is due. */
type NextTimes = (server: ServerRecord, lastRequest: Date) => Date | undefined;

/** Computes each server's next time once, until its inputs change: searching by a frequency is slow. */
export function nextTimes(): NextTimes {
  const known = new Map<number, { readonly reason: string; readonly due: Date | undefined }>();
  return ({ id, settings: { docker_cleanup_frequency, server_timezone } }, lastRequest) => {
    const reason = JSON.stringify([docker_cleanup_frequency, server_timezone, lastRequest]);
    const before = known.get(id);
    if (before?.reason === reason) return before.due;
    const due = timesOf(docker_cleanup_frequency, server_timezone)(lastRequest);
    known.set(id, { reason, due });
    return due;
  };
}

/** Queues due cleanups. If several were missed while no control plane ran, only one is queued. */
export async function requestDueCleanups(
  deps: Pick<WorkerDeps, "stores" | "cleanerFor" | "clock" | "diskOf">,
  servers: readonly ServerRecord[],
  times: NextTimes = nextTimes(),
): Promise<void> {
  const { stores, clock } = deps;
  const cleaned = servers.filter((server) => server.removing_at === null && deps.cleanerFor?.(server) !== undefined);
  if (cleaned.length === 0) return;
  const ids = cleaned.map(({ id }) => id);
  const lastRequests = await stores.jobs.lastRequests("server.cleanup", ids);
  for (const server of cleaned) {
    const due = times(server, lastRequests.get(server.id) ?? server.created_at);
    if (due === undefined || due > clock.now()) continue;
    const disk = await deps.diskOf(server).catch(() => undefined);
    if (!isCleanupNeeded(server.settings, disk)) continue;
    const subject = { type: "server", id: server.id, uuid: server.uuid, name: server.name } as const;
    await stores
      .forTeam(server.team_id)
      .jobs.request([{ uuid: randomBytes(12).toString("hex"), type: "server.cleanup", subject }]);
  }
}
