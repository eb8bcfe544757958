import { onServer } from "@berth/core/application";
import { type DeploySubject, type SubjectFacts, subjectFacts } from "@berth/core/deploy";
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
  /** Only of active resources, since secrets are read for them. */
  readonly facts: SubjectFacts | undefined;
  readonly previews: readonly RoutedPreview[];
  /** Set if it has left the server: the pull requests of which it has a live release on its own, 0 for its own. */
  readonly liveElsewhere: ReadonlySet<number> | undefined;
  /** The pull requests of which only other servers have a live release, which answer until one is here. */
  readonly liveBefore: ReadonlySet<number>;
}

/** A resource with its releases on all servers. */
interface FoundResource extends Pick<RecordedResource, "resource" | "previews"> {
  readonly subject: DeploySubject | undefined;
}

/** Existing resources that were read for a server, by id. */
type ReadResources = ReadonlyMap<number, RecordedResource>;

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
    const recorded = await readRecorded(stores, fresh);
    const freshByServer = Map.groupBy(fresh, ({ server_id }) => server_id);
    for (const id of serverIds) {
      const before = known.get(id);
      const keys = new Set((changesByServer.get(id) ?? []).map(({ key }) => key));
      const times = { position, readMs: nowMs, wholeMs: before?.wholeMs ?? nowMs, keys };
      known.set(id, { ...times, ...merged(before, freshByServer.get(id) ?? [], recorded.get(id) ?? NO_RESOURCES) });
    }
    return { active, drills };
  };

  const changesOf = (serverIds: readonly number[]) =>
    stores.resources.changes(new Map(serverIds.map((id) => [id, known.get(id)?.position])));

  return async (serverId) => (await read(serverId)) ?? NOTHING;
}

/** The changed resources as each server sees them. Read in parts, so that thousands of texts are not in memory at once. */
async function readRecorded(
  stores: SystemStores,
  changes: ResourceChanges["changes"],
): Promise<ReadonlyMap<number, ReadResources>> {
  const serversOf = Map.groupBy(changes, ({ resource_id }) => resource_id);
  const ids = [...serversOf.keys()];
  const read = new Map<number, Map<number, RecordedResource>>();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const resources = await stores.resources.inspect(ids.slice(from, from + READ_AT_ONCE));
    const previewed = resources.filter(({ is_resting, has_previews }) => !is_resting && has_previews);
    const previews = previewed.length === 0 ? [] : await stores.previews.listByResources(previewed.map(({ id }) => id));
    const previewsOf = Map.groupBy(previews, ({ resource_id }) => resource_id);
    for (let at = 0; at < resources.length; at += SUBJECTS_AT_ONCE) {
      const part = resources.slice(at, at + SUBJECTS_AT_ONCE);
      const subjects = await subjectsOf(stores, part);
      for (const resource of part) {
        const { id } = resource;
        const found = { resource, subject: subjects.get(id), previews: previewsOf.get(id) ?? [] };
        for (const { server_id } of serversOf.get(id) ?? []) {
          const recorded = recordedOn(server_id, found);
          if (recorded !== undefined) read.set(server_id, (read.get(server_id) ?? new Map()).set(id, recorded));
        }
      }
    }
  }
  return read;
}

/** The subjects of active resources, by id. */
async function subjectsOf(
  { resources }: Pick<SystemStores, "resources">,
  inspected: readonly InspectedResource[],
): Promise<ReadonlyMap<number, DeploySubject>> {
  const active = inspected.filter(({ is_resting }) => !is_resting);
  const found = new Map<number, DeploySubject>();
  for (const [kind, those] of Map.groupBy(active, (resource) => resource.kind)) {
    const ids = those.map(({ id }) => id);
    for (const [id, subject] of await resources.subjects(kind, ids)) found.set(id, subject);
  }
  return found;
}

function merged(
  before: Known | undefined,
  changes: ResourceChanges["changes"],
  read: ReadResources,
): Pick<Known, "resources" | "inOrder"> {
  if (before !== undefined && changes.length === 0) return before;
  const resources = new Map(before?.resources);
  for (const { resource_id } of changes) {
    const recorded = read.get(resource_id);
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
  const { subject, previews } = found;
  if (here !== undefined) {
    return {
      resource: onServer(resource, here),
      facts: factsOn(resource, subject && subjectOn(subject, here)),
      // Only the primary server has those.
      previews: resource.server_id === serverId ? previews : [],
      liveElsewhere: undefined,
      liveBefore: liveBefore(onServer(found.resource, here)),
    };
  }
  const recorded = { resource, facts: factsOn(resource, subject), previews };
  if (resource.server_id === serverId)
    return { ...recorded, liveElsewhere: undefined, liveBefore: liveBefore(found.resource) };
  if (releases.length === 0) return undefined;
  const live = found.resource.releases.filter(
    ({ role, server_id }) => role === "live" && server_id === resource.server_id,
  );
  const liveElsewhere = new Set(live.map(({ pull_request_id }) => pull_request_id));
  return { ...recorded, liveElsewhere, liveBefore: NONE };
}

function factsOn({ releases }: InspectedResource, subject: DeploySubject | undefined): SubjectFacts | undefined {
  const live = releases.find(({ role, pull_request_id }) => role === "live" && pull_request_id === 0);
  return subject && subjectFacts(subject, live?.upstream ?? null);
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

const NO_RESOURCES: ReadResources = new Map();
const NOTHING: ServerRecords = { active: [], resources: [], drills: [] };
const READ_AT_ONCE = 500;
/** Each may have a compose file of some hundred kilobytes. */
const SUBJECTS_AT_ONCE = 100;
/** Shorter than the time for which changes are stored, see `CHANGES_KEPT_SECONDS`. */
const FOLLOWED_MS_MAX = 15 * 60_000;
/** Reads everything again after this time, in case a change was missed. */
const WHOLE_MS_MAX = 60 * 60_000;
