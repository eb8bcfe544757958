import {
  type DeploySubject,
  deployedKind,
  type Observed,
  type SiteSubject,
  siteSubjects,
  type Wanted,
  type WantedContainer,
  type WantedPreview,
  type WantedRelease,
  type WantedResource,
} from "@berth/core/deploy";
import type {
  DeploymentRecord,
  ReleaseRecord,
  ResourceRecord,
  RoutedPreview,
  ServiceContainerRecord,
  SystemStores,
} from "@berth/core/ports";
import type { ServerAdapters } from "./server-adapters.ts";
import { serverRecords } from "./server-records.ts";

/** Recorded and observed state of a server. The observation is never newer than the record. */
export interface Snapshot {
  readonly wanted: Wanted;
  readonly releases: Observed["releases"];
  /** By the resource's id. */
  readonly subjects: ReadonlyMap<number, DeploySubject>;
}

export interface Observer {
  look(adapters: ServerAdapters): Promise<Snapshot>;
  /**
   * A look at what the engine has told by itself, which may be a moment old: good for seeing that nothing is to be
   * done. `undefined`: the engine has to be asked.
   */
  cachedSnapshot(adapters: ServerAdapters): Promise<Snapshot | undefined>;
  /** Drops the cached settings of a resource. */
  forget(resourceId: number): void;
}

export function createObserver(stores: SystemStores): Observer {
  // Settings are read again when their row has changed: a look every few seconds must cost next to nothing.
  const known = new Map<number, { readonly subject: DeploySubject; readonly readMs: number }>();
  const byServer = new Map<number, readonly number[]>();
  const recordsOf = serverRecords(stores);

  const subjectOf = async (resource: ResourceRecord): Promise<DeploySubject | undefined> => {
    const before = known.get(resource.id);
    const isSame = before?.subject.record.updated_at.getTime() === resource.updated_at.getTime();
    if (before !== undefined && isSame && performance.now() - before.readMs < KEPT_MS) return before.subject;
    const subject = await stores.resources.subject(resource.id);
    if (subject !== undefined) known.set(resource.id, { subject, readMs: performance.now() });
    return subject;
  };

  // A release follows its deployment, and a deployment ends after its release is recorded. Seen before the records are
  // read, and active deployments read before releases, nothing that a running deployment makes can look as if it
  // belonged to no one.
  const snapshotFrom = async (
    { server, engine }: ServerAdapters,
    releases: Snapshot["releases"],
  ): Promise<Snapshot> => {
    const { active, releases: records, resources, previews, drills } = await recordsOf(server.id);
    const activeIds = new Set(active.map(({ id }) => id));
    const deploying = new Set(active.filter(isOwnProgress).map(({ resource_id }) => resource_id));
    const subjects = new Map<number, DeploySubject>();
    const byResource = Map.groupBy(records, (record) => record.resource_id);
    const previewsOf = Map.groupBy(previews, (preview) => preview.resource_id);
    const wantedResources: WantedResource[] = [];
    for (const resource of resources) {
      const subject = await subjectOf(resource);
      if (subject !== undefined) subjects.set(resource.id, subject);
      const releases = (byResource.get(resource.id) ?? []).map((record) => wantedRelease(record, activeIds));
      const own = previewsOf.get(resource.id) ?? [];
      wantedResources.push({
        ...wantedResource(resource, subject, releases),
        isAlone:
          subject !== undefined && deployedKind(subject).exclusiveReason(subject, engine.capabilities) !== undefined,
        isDeploying: deploying.has(resource.id),
        previews: own.map((preview) => wantedPreview(preview, subject)),
      });
    }
    const present = new Set(resources.map(({ id }) => id));
    for (const id of byServer.get(server.id) ?? []) if (!present.has(id)) known.delete(id);
    byServer.set(server.id, [...present]);
    const activeDeployments = new Set([...active.map(({ uuid }) => uuid), ...drills]);
    const wanted = { resources: wantedResources, activeDeployments };
    return { wanted, releases, subjects };
  };

  return {
    look: async (adapters) => snapshotFrom(adapters, await adapters.engine.list()),
    async cachedSnapshot(adapters) {
      const releases = adapters.engine.lastSeen();
      return releases && (await snapshotFrom(adapters, releases));
    },
    forget: (resourceId) => void known.delete(resourceId),
  };
}

/** A deployment of the resource itself that has begun. */
const isOwnProgress = ({ status, pull_request_id }: DeploymentRecord) =>
  status === "in_progress" && pull_request_id === 0;

function wantedResource(
  resource: ResourceRecord & { readonly domains: SiteSubject["domains"] },
  subject: DeploySubject | undefined,
  releases: readonly WantedRelease[],
): Omit<WantedResource, "previews" | "isAlone" | "isDeploying"> {
  return {
    id: resource.id,
    uuid: resource.uuid,
    status: resource.status,
    desiredState: resource.desired_state,
    isRemoving: resource.removing_at !== null,
    restartCount: (subject && deployedKind(subject).restartCount(subject)) ?? 0,
    restartCountMax: subject && deployedKind(subject).restartCountMax(subject),
    releases,
    sites: sitesOf(subject, resource.domains, 0),
    containers: subject && deployedKind(subject).containers(subject)?.map(wantedContainer),
  };
}

const wantedContainer = ({ name, status, exclude_from_status }: ServiceContainerRecord): WantedContainer => ({
  name,
  status,
  isExcluded: exclude_from_status,
});

const wantedPreview = (preview: RoutedPreview, subject: DeploySubject | undefined): WantedPreview => ({
  id: preview.id,
  pullRequestId: preview.pull_request_id,
  status: preview.status,
  isRemoving: preview.removing_at !== null,
  sites: sitesOf(subject, preview.domains, preview.pull_request_id),
});

function sitesOf(
  subject: DeploySubject | undefined,
  domains: SiteSubject["domains"],
  pullRequestId: number,
): readonly SiteSubject[] {
  const site = subject && deployedKind(subject).site(subject);
  return site === undefined ? [] : siteSubjects({ ...site, domains, pullRequestId });
}

const wantedRelease = (record: ReleaseRecord, active: ReadonlySet<number>): WantedRelease => ({
  deploymentId: record.deployment_id,
  deploymentUuid: record.deployment_uuid,
  pullRequestId: record.pull_request_id,
  role: record.role,
  builtBy: record.built_by,
  upstream: record.upstream,
  isSuccessorActive: record.replaced_by_deployment_id !== null && active.has(record.replaced_by_deployment_id),
});

/** Two changes within a millisecond have one time: what was read between them must not be kept for ever. */
const KEPT_MS = 30_000;
