import type { DeploymentRecord, ReleaseRecord, RoutedPreview, RoutedResource, SystemStores } from "@berth/core/ports";
import { batched } from "./batch.ts";

/** Reads the records of a server. */
export interface ServerRecords {
  readonly active: readonly DeploymentRecord[];
  readonly releases: readonly ReleaseRecord[];
  readonly resources: readonly RoutedResource[];
  readonly previews: readonly RoutedPreview[];
  /** Drills of all servers, since a drill's database has no record. */
  readonly drills: readonly string[];
}

/** Reads what is recorded of servers, of all that are asked for at once together. */
export function serverRecords(stores: SystemStores): (serverId: number) => Promise<ServerRecords> {
  const read = batched(async (serverIds: readonly number[]) => {
    const active = Map.groupBy(await stores.deployments.listActiveOn(serverIds), ({ server_id }) => server_id);
    const [releases, resources, previews, drills] = await Promise.all([
      stores.releases.listByServers(serverIds),
      stores.resources.listByServers(serverIds),
      stores.previews.listByServers(serverIds),
      stores.restores.runningDrills(),
    ]);
    const releasesOf = Map.groupBy(releases, ({ server_id }) => server_id);
    const resourcesOf = Map.groupBy(resources, ({ server_id }) => server_id);
    const previewsOf = Map.groupBy(previews, ({ server_id }) => server_id);
    const recordsOf = (id: number): ServerRecords => ({
      active: active.get(id) ?? [],
      releases: releasesOf.get(id) ?? [],
      resources: resourcesOf.get(id) ?? [],
      previews: previewsOf.get(id) ?? [],
      drills,
    });
    return new Map(serverIds.map((id) => [id, recordsOf(id)]));
  });
  return async (serverId) => (await read(serverId)) ?? NOTHING;
}

const NOTHING: ServerRecords = { active: [], releases: [], resources: [], previews: [], drills: [] };
