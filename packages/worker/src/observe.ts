import {
  isExclusiveOn,
  type Observed,
  restingSites,
  type SiteSubject,
  type SubjectFacts,
  siteSubjects,
  type Wanted,
  type WantedPreview,
  type WantedRelease,
  type WantedResource,
} from "@berth/core/deploy";
import type {
  ActiveDeployment,
  Engine,
  InspectedRelease,
  RoutedPreview,
  SystemStores,
  WakeTopic,
} from "@berth/core/ports";
import type { ServerAdapters } from "./server-adapters.ts";
import { type RecordedResource, type ServerRecords, serverRecords } from "./server-records.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Recorded and observed state of a server. The observation is never newer than the record. */
export interface Snapshot {
  /** The same object as in the snapshot before, where no record of a resource changed. */
  readonly revision: object;
  readonly wanted: Wanted;
  readonly releases: Observed["releases"];
  /** Facts of active resources by their id. */
  readonly facts: ReadonlyMap<number, SubjectFacts>;
}

export interface Observer {
  look(adapters: ServerAdapters): Promise<Snapshot>;
  /**
   * A snapshot from the engine's events, which may be slightly old: enough to see that nothing is to be done.
   * `undefined`: the engine has to be asked.
   */
  cachedSnapshot(adapters: ServerAdapters): Promise<Snapshot | undefined>;
  /** Whether any resource is recorded with a server, read now. */
  hasResources(serverId: number): Promise<boolean>;
  /** Number of resources of all servers, as read last. */
  resourceCount(): number;
  forget(serverId: number): void;
}

export interface ObserverOptions {
  readonly wakeSignal: Pick<WakeSignal, "count">;
  /** How long records are kept for cached snapshots while nothing reports a change of them. */
  readonly keptSeconds: number;
}

export function createObserver(stores: SystemStores, { wakeSignal, keptSeconds }: ObserverOptions): Observer {
  const recordsOf = serverRecords(stores);
  const recent = new Map<number, { readonly records: ServerRecords; readonly count: number; readonly atMs: number }>();

  const readRecords = async (serverId: number): Promise<ServerRecords> => {
    const kept = { count: wakeSignal.count(RECORD_TOPICS), atMs: performance.now() };
    const records = await recordsOf(serverId);
    recent.set(serverId, { ...kept, records });
    return records;
  };

  /** What runs changes without a notification, so only records of a server without deployments are kept. */
  const recentRecords = async (serverId: number): Promise<ServerRecords> => {
    const kept = recent.get(serverId);
    const isKept =
      kept?.count === wakeSignal.count(RECORD_TOPICS) &&
      performance.now() - kept.atMs < keptSeconds * 1000 &&
      kept.records.active.length === 0 &&
      kept.records.drills.length === 0;
    return isKept ? kept.records : await readRecords(serverId);
  };

  // Cached by record: with a check every few seconds, unchanged resources must cost almost nothing.
  const made = new WeakMap<RecordedResource, { readonly engine: Engine; readonly wanted: WantedResource }>();

  const wantedOf = (recorded: RecordedResource, engine: Engine): WantedResource => {
    const before = made.get(recorded);
    if (before?.engine === engine) return before.wanted;
    const wanted = wantedResource(recorded, engine);
    made.set(recorded, { engine, wanted });
    return wanted;
  };

  // Read order: what runs, then active deployments, then releases. A deployment ends only after its release is
  // recorded, so in this order nothing that a running deployment creates can look as if it had no owner.
  const snapshotFrom = async (
    { server, engine, replicaHealth }: ServerAdapters,
    seen: Snapshot["releases"],
    read: (serverId: number) => Promise<ServerRecords>,
  ): Promise<Snapshot> => {
    const { active, resources, drills } = await read(server.id);
    const releases = seen.map(replicaHealth.appliedTo);
    const activeIds = new Set(active.map(({ id }) => id));
    const deploying = new Set(active.filter(isOwnProgress).map(({ resource_id }) => resource_id));
    const facts = new Map<number, SubjectFacts>();
    const wantedResources = resources.map((recorded): WantedResource => {
      const { resource } = recorded;
      const { releases } = resource;
      if (recorded.facts !== undefined) facts.set(resource.id, recorded.facts);
      const wanted = wantedOf(recorded, engine);
      const isReplaced = releases.some(({ replaced_by_deployment_id: by }) => by !== null && activeIds.has(by));
      if (!isReplaced && !deploying.has(resource.id)) return wanted;
      return {
        ...wanted,
        releases: releases.map((record) => wantedRelease(recorded, record, activeIds)),
        isDeploying: deploying.has(resource.id),
      };
    });
    const activeDeployments = new Set([...active.map(({ uuid }) => uuid), ...drills]);
    const wanted = { resources: wantedResources, activeDeployments };
    return { revision: resources, wanted, releases, facts };
  };

  return {
    look: async (adapters) => snapshotFrom(adapters, await adapters.engine.list(), readRecords),
    async cachedSnapshot(adapters) {
      const releases = adapters.engine.lastSeen();
      return releases && (await snapshotFrom(adapters, releases, recentRecords));
    },
    hasResources: async (serverId) => (await readRecords(serverId)).resources.length > 0,
    resourceCount: () => [...recent.values()].reduce((sum, { records }) => sum + records.resources.length, 0),
    forget: (serverId) => void recent.delete(serverId),
  };
}

const RECORD_TOPICS: readonly WakeTopic[] = ["record", "resource", "removal", "deployment", "backup", "server"];

/** A started deployment of the resource itself, not of a preview. */
const isOwnProgress = ({ status, pull_request_id }: ActiveDeployment) =>
  status === "in_progress" && pull_request_id === 0;

/** The wanted state of a resource, without its deployments. */
function wantedResource(recorded: RecordedResource, engine: Engine): WantedResource {
  const { resource, facts, previews, liveElsewhere, liveBefore } = recorded;
  const { id, uuid, name, domains, releases, site_settings } = resource;
  const replicas = engine.capabilities.replicas ? facts?.replicas : undefined;
  const restartCountMax = facts?.restartCountMax;
  return {
    id,
    uuid,
    kind: resource.kind,
    status: resource.status,
    statusProblem: resource.status_problem,
    desiredState: resource.desired_state,
    stopReason: resource.stop_reason,
    isRemoving: resource.removing_at !== null,
    hasLeft: liveElsewhere !== undefined,
    restartCount: facts?.restartCount ?? 0,
    // The restarts of all containers are counted together.
    restartCountMax: restartCountMax && restartCountMax * (replicas ?? 1),
    releases: releases.map((record) => wantedRelease(recorded, record, NO_DEPLOYMENTS)),
    replicas,
    hasScaleProblem: facts?.hasScaleProblem,
    isAlone: facts !== undefined && isExclusiveOn(facts, engine.capabilities),
    isDeploying: false,
    sites: liveBefore.has(0) ? [] : sitesOf(facts, domains, 0),
    restingSites: resource.is_resting ? restingSites({ uuid, name }, site_settings, domains) : undefined,
    previews: previews.map((preview) =>
      wantedPreview(preview, liveBefore.has(preview.pull_request_id) ? undefined : facts),
    ),
    containers: facts?.containers,
  };
}

const NO_DEPLOYMENTS: ReadonlySet<number> = new Set();

const wantedPreview = (preview: RoutedPreview, facts: SubjectFacts | undefined): WantedPreview => ({
  id: preview.id,
  pullRequestId: preview.pull_request_id,
  status: preview.status,
  isRemoving: preview.removing_at !== null,
  sites: sitesOf(facts, preview.domains, preview.pull_request_id),
});

function sitesOf(
  facts: SubjectFacts | undefined,
  domains: SiteSubject["domains"],
  pullRequestId: number,
): readonly SiteSubject[] {
  const site = facts?.site;
  return site === undefined ? [] : siteSubjects({ ...site, domains, pullRequestId });
}

const wantedRelease = (
  { liveElsewhere }: RecordedResource,
  record: InspectedRelease,
  active: ReadonlySet<number>,
): WantedRelease => ({
  deploymentId: record.deployment_id,
  deploymentUuid: record.deployment_uuid,
  pullRequestId: record.pull_request_id,
  role: record.role,
  builtBy: record.built_by,
  upstream: record.upstream,
  isSuccessorActive: record.replaced_by_deployment_id !== null && active.has(record.replaced_by_deployment_id),
  isSuperseded: liveElsewhere?.has(record.pull_request_id) === true,
});
