import { onServer } from "@berth/core/application";
import type { DeploySubject } from "@berth/core/deploy";
import type {
  ActiveDeployment,
  ApplicationDestinationRecord,
  InspectedResource,
  ResourceChanges,
  RoutedPreview,
  SystemStores,
} from "@berth/core/ports";
import { batched } from "./batch.ts";

/** Database records of a server. */
export interface ServerRecords {
  readonly active: readonly ActiveDeployment[];
  /** Sorted by id. Unchanged entries are the same objects as in the read before. */
  readonly resources: readonly RecordedResource[];
  /** Running drills on all servers, since a drill's database has no record. */
  readonly drills: readonly string[];
}

/** A resource as one server sees it: with the releases of that server only. */
export interface RecordedResource {
  readonly resource: InspectedResource;
  /** Read only for active resources, since it contains secrets. */
  readonly subject: DeploySubject | undefined;
  readonly previews: readonly RoutedPreview[];
  /** Set if it has left the server: the pull requests of which it has a live release on its own, 0 for its own. */
  readonly liveElsewhere: ReadonlySet<number> | undefined;
  /** The pull requests of which only other servers have a live release, which answer until one is here. */
  readonly liveBefore: ReadonlySet<number>;
}

/** A resource with its releases on all servers. */
type FoundResource = Omit<RecordedResource, "liveElsewhere" | "liveBefore">;

/** Records of one server, up to the change number `position`. */
interface Known {
  readonly position: string;
  readonly readMs: number;
  readonly wholeMs: number;
  /** Changes that were already read, and may be returned again while an older transaction runs. */
  readonly keys: ReadonlySet<string>;
  readonly resources: ReadonlyMap<number, RecordedResource>;
  readonly inOrder: readonly RecordedResource[];
}

/** Reads the records of servers, batching concurrent calls. Of the resources, only changed ones are read again. */
export function serverRecords(stores: SystemStores): (serverId: number) => Promise<ServerRecords> {
  const known = new Map<number, Known>();

  const read = batched(async (serverIds: readonly number[]) => {
    const seen = await readResources(serverIds);
    const active = Map.groupBy(seen.active, ({ server_id }) => server_id);
    const recordsOf = (id: number): ServerRecords => ({
      active: active.get(id) ?? [],
      resources: known.get(id)?.inOrder ?? [],
      drills: seen.drills,
    });
    return new Map(serverIds.map((id) => [id, recordsOf(id)]));
  });

  /**
   * Deployments that are active are seen together with the changes, and releases are read after both: one that is no
   * longer active has recorded its release.
   */
  const readResources = async (serverIds: readonly number[]): Promise<Pick<ResourceChanges, "active" | "drills">> => {
    const nowMs = performance.now();
    for (const [id, { readMs, wholeMs }] of known)
      if (nowMs - readMs > FOLLOWED_MS_MAX || nowMs - wholeMs > WHOLE_MS_MAX) known.delete(id);
    let { position, active, drills, changes } = await changesOf(serverIds);
    // The database was replaced by an older one, and what is known may be of transactions that it has not.
    if (serverIds.some((id) => BigInt(known.get(id)?.position ?? 0) > BigInt(position))) {
      for (const id of serverIds) known.delete(id);
      ({ position, active, drills, changes } = await changesOf(serverIds));
    }
    const changesByServer = Map.groupBy(changes, ({ server_id }) => server_id);
    const fresh = changes.filter(({ server_id, key }) => !known.get(server_id)?.keys.has(key));
    const recorded = await readRecorded(stores, [...new Set(fresh.map(({ resource_id }) => resource_id))]);
    const freshByServer = Map.groupBy(fresh, ({ server_id }) => server_id);
    for (const id of serverIds) {
      const before = known.get(id);
      const keys = new Set((changesByServer.get(id) ?? []).map(({ key }) => key));
      const times = { position, readMs: nowMs, wholeMs: before?.wholeMs ?? nowMs, keys };
      known.set(id, { ...times, ...merged(id, before, freshByServer.get(id) ?? [], recorded) });
    }
    return { active, drills };
  };

  const changesOf = (serverIds: readonly number[]) =>
    stores.resources.changes(new Map(serverIds.map((id) => [id, known.get(id)?.position])));

  return async (serverId) => (await read(serverId)) ?? NOTHING;
}

/** Existing resources among these ids. Read in parts, so that thousands of texts are not in memory at once. */
async function readRecorded(stores: SystemStores, ids: readonly number[]): Promise<ReadonlyMap<number, FoundResource>> {
  const found = new Map<number, FoundResource>();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const part = ids.slice(from, from + READ_AT_ONCE);
    const resources = await stores.resources.inspect(part);
    const previewed = resources.filter(({ is_resting, has_previews }) => !is_resting && has_previews);
    const previews = previewed.length === 0 ? [] : await stores.previews.listByResources(previewed.map(({ id }) => id));
    const previewsOf = Map.groupBy(previews, ({ resource_id }) => resource_id);
    for (const resource of resources) {
      const { id } = resource;
      const subject = resource.is_resting ? undefined : await stores.resources.subject(id, resource.kind);
      found.set(id, { resource, subject, previews: previewsOf.get(id) ?? [] });
    }
  }
  return found;
}

function merged(
  serverId: number,
  before: Known | undefined,
  changes: ResourceChanges["changes"],
  found: ReadonlyMap<number, FoundResource>,
): Pick<Known, "resources" | "inOrder"> {
  if (before !== undefined && changes.length === 0) return before;
  const resources = new Map(before?.resources);
  for (const { resource_id } of changes) {
    const now = found.get(resource_id);
    const recorded = now && recordedOn(serverId, now);
    if (recorded === undefined) resources.delete(resource_id);
    else resources.set(resource_id, recorded);
  }
  return { resources, inOrder: [...resources.values()].sort((a, b) => a.resource.id - b.resource.id) };
}

/** `undefined`: the resource is on other servers and left nothing on this one. */
function recordedOn(serverId: number, found: FoundResource): RecordedResource | undefined {
  const releases = found.resource.releases.filter(({ server_id }) => server_id === serverId);
  const resource = { ...found.resource, releases };
  const here = resource.destinations.find(({ server_id }) => server_id === serverId);
  if (here !== undefined) {
    return {
      resource: onServer(resource, here),
      subject: found.subject && subjectOn(found.subject, here),
      // Only the primary server has those.
      previews: resource.server_id === serverId ? found.previews : [],
      liveElsewhere: undefined,
      liveBefore: liveBefore(onServer(found.resource, here)),
    };
  }
  if (resource.server_id === serverId)
    return { ...found, resource, liveElsewhere: undefined, liveBefore: liveBefore(found.resource) };
  if (releases.length === 0) return undefined;
  const live = found.resource.releases.filter(
    ({ role, server_id }) => role === "live" && server_id === resource.server_id,
  );
  const liveElsewhere = new Set(live.map(({ pull_request_id }) => pull_request_id));
  return { ...found, resource, liveElsewhere, liveBefore: NONE };
}

const subjectOn = (subject: DeploySubject, here: ApplicationDestinationRecord): DeploySubject =>
  subject.kind === "application" ? { ...subject, record: onServer(subject.record, here) } : subject;

function liveBefore({ server_id, releases }: InspectedResource): ReadonlySet<number> {
  const live = releases.filter(({ role }) => role === "live");
  const here = new Set(live.flatMap((one) => (one.server_id === server_id ? [one.pull_request_id] : [])));
  const elsewhere = live.filter((one) => !here.has(one.pull_request_id));
  return elsewhere.length === 0 ? NONE : new Set(elsewhere.map(({ pull_request_id }) => pull_request_id));
}

const NONE: ReadonlySet<number> = new Set();

const NOTHING: ServerRecords = { active: [], resources: [], drills: [] };
const READ_AT_ONCE = 500;
/** Shorter than the time for which changes are stored, see `CHANGES_KEPT_SECONDS`. */
const FOLLOWED_MS_MAX = 15 * 60_000;
/** Reads everything again after this time, in case a change was missed. */
const WHOLE_MS_MAX = 60 * 60_000;
