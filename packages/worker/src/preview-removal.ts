import { isOwnOfPreview } from "@berth/core/application";
import { mountsOf } from "@berth/core/deploy";
import type { ResourceRecord } from "@berth/core/ports";
import type { WorkerDeps } from "./ports.ts";
import { attemptRemoval, cancelDeployments, releasesOn, waitsFor } from "./removal.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import { stopGraceSeconds } from "./stop-grace.ts";

/**
 * Removes the preview of a pull request: ends its deployments, then removes its route, its releases and its own
 * storages, and last its row, which frees its URL. Every part may be repeated.
 *
 * Each server that has releases of it removes its own ones; the server of the application deletes the row.
 *
 * @returns `false` while a deployment or another server has not ended: call it again.
 */
export async function removePreview(
  deps: WorkerDeps,
  adapters: ServerAdapters,
  resourceId: number,
  pullRequestId: number,
): Promise<boolean> {
  const { stores, logger } = deps;
  const [resource, preview] = await Promise.all([
    stores.resources.find(resourceId),
    stores.previews.find(resourceId, pullRequestId),
  ]);
  // Removing an application includes its previews.
  if (
    preview === undefined ||
    preview.removing_at === null ||
    resource === undefined ||
    resource.removing_at !== null
  ) {
    return true;
  }
  return await attemptRemoval(deps, { type: "preview.delete", subject_id: preview.id }, async () => {
    // Closing it ended what was queued; what is queued now is of its successor.
    if (!(await cancelDeployments(stores, resource, pullRequestId, { isQueuedKept: true }))) return false;
    await takeFromEngine(deps, adapters, resource, pullRequestId);
    if (resource.server_id !== adapters.server.id) return false;
    const waiting = await waitsFor(stores, resource, pullRequestId);
    if (waiting !== undefined) return waiting;
    await stores.previews.delete(preview.id);
    logger.info("Preview removed.", { resource: resource.uuid, pullRequestId });
    return true;
  });
}

async function takeFromEngine(
  { stores }: WorkerDeps,
  { server, engine, router }: ServerAdapters,
  { id, uuid, team_id }: ResourceRecord,
  pullRequestId: number,
): Promise<void> {
  await router.unrouteAll(uuid, pullRequestId);
  const graceSeconds = await stopGraceSeconds(stores, id);
  const releases = (await releasesOn(stores, server, id)).filter(
    (release) => release.pull_request_id === pullRequestId,
  );
  await Promise.all(
    releases.map(async ({ deployment_id, deployment_uuid }) => {
      await engine.remove({ resourceUuid: uuid, deploymentUuid: deployment_uuid }, { graceSeconds });
      await stores.releases.delete(deployment_id);
    }),
  );
  const { items } = await stores.forTeam(team_id).storages.list(id);
  const own = items.filter((storage) => isOwnOfPreview(storage, pullRequestId));
  const volumes = mountsOf(uuid, own, pullRequestId).filter(({ type }) => type === "volume");
  if (volumes.length > 0) await engine.removeVolumes(uuid, volumes);
}
