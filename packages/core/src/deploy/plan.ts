import type { Site } from "../ports/proxy.ts";
import type { ReleaseRole } from "../ports/records.ts";
import type { DesiredState } from "../resource.ts";
import {
  aggregateStatus,
  type ContainerStatus,
  type Health,
  REMOVING_STATUS,
  STARTING_STATUS,
  STOPPED_STATUS,
} from "../status.ts";
import type { ReleaseRef, ReleaseState, Upstream } from "./release.ts";
import { type SiteSubject, siteOf, upstreamsOf } from "./site.ts";

/** What is recorded of one server. */
export interface Wanted {
  readonly resources: readonly WantedResource[];
  /** Uuids of the deployments that are queued or in progress: what they are making is theirs. */
  readonly activeDeployments: ReadonlySet<string>;
}

export interface WantedResource {
  readonly id: number;
  readonly uuid: string;
  readonly status: string;
  readonly desiredState: DesiredState;
  readonly isRemoving: boolean;
  readonly restartCount: number;
  readonly releases: readonly WantedRelease[];
  /** What its site is made of; `undefined`: it claims no URL. */
  readonly site: SiteSubject | undefined;
}

export interface WantedRelease {
  readonly deploymentId: number;
  readonly deploymentUuid: string;
  readonly pullRequestId: number;
  readonly role: ReleaseRole;
  readonly builtBy: string;
  readonly upstream: Upstream | null;
  /** Of a retiring one: the deployment that took its place has not ended yet. */
  readonly isSuccessorActive: boolean;
}

/** What is seen of the same server. It must have been read before what is recorded: a release follows its record. */
export interface Observed {
  readonly releases: readonly ReleaseState[];
  /** By the deployment's uuid; what is missing is unknown. */
  readonly health: ReadonlyMap<string, Health>;
  /** What the proxy was last told, by the site's id. */
  readonly sites: ReadonlyMap<string, Site>;
  /** Deployments' uuids whose release failed to start lately and must wait for its next try. */
  readonly resting: ReadonlySet<string>;
}

export type Operation =
  | { readonly type: "start"; readonly resourceId: number; readonly release: ReleaseRef; readonly deploymentId: number }
  | { readonly type: "stop"; readonly resourceId: number | null; readonly release: ReleaseRef }
  /** A release that no record names any more, with what was built for it. */
  | { readonly type: "remove"; readonly release: ReleaseRef }
  /** The candidate of a deployment that ended: the release and its record. */
  | { readonly type: "discard"; readonly release: ReleaseRef; readonly deploymentId: number }
  /** Drains and removes a replaced release; what was built for it stays when another release runs it. */
  | {
      readonly type: "retire";
      readonly resourceId: number;
      readonly release: ReleaseRef;
      readonly deploymentId: number;
      readonly keepsArtifact: boolean;
    }
  | { readonly type: "route"; readonly resourceId: number }
  | { readonly type: "unroute"; readonly siteId: string }
  | { readonly type: "set_upstream"; readonly deploymentId: number; readonly upstream: Upstream }
  | { readonly type: "set_status"; readonly resourceId: number; readonly status: string }
  | { readonly type: "set_restarts"; readonly resourceId: number; readonly restartCount: number }
  | { readonly type: "remove_resource"; readonly resourceId: number };

/**
 * What is to be done on a server so that it becomes what is recorded. Every operation may be repeated; when nothing
 * is to be done, the answer is empty.
 */
export function plan(wanted: Wanted, observed: Observed): readonly Operation[] {
  const seen = new Map(observed.releases.map((release) => [release.deploymentUuid, release]));
  return [
    ...wanted.resources.flatMap((resource) => planResource(resource, seen, wanted, observed)),
    ...planUnrecorded(wanted, observed),
    ...planGoneSites(wanted, observed),
  ];
}

type Seen = ReadonlyMap<string, ReleaseState>;

function planResource(resource: WantedResource, seen: Seen, wanted: Wanted, observed: Observed): Operation[] {
  const status = setStatus(resource, statusOf(resource, seen, wanted, observed));
  // The removal stops, unroutes and removes in its own order.
  if (resource.isRemoving) return [...status, { type: "remove_resource", resourceId: resource.id }];
  return [
    // As it was seen, before anything changes it; then the route, before what it led to goes.
    ...status,
    ...setRestarts(resource, seen),
    ...planRoute(resource, seen, observed),
    ...resource.releases.flatMap((release) => planRelease(resource, release, seen, wanted, observed)),
  ];
}

function planRelease(
  resource: WantedResource,
  release: WantedRelease,
  seen: Seen,
  wanted: Wanted,
  observed: Observed,
): Operation[] {
  const { deploymentId, deploymentUuid } = release;
  const ref: ReleaseRef = { resourceUuid: resource.uuid, deploymentUuid };
  const state = seen.get(deploymentUuid);
  switch (release.role) {
    case "live":
      return planLive(resource, release, ref, state, observed);
    case "retiring": {
      // Its removal is the last part of that deployment's story, also where people read it.
      if (release.isSuccessorActive) return [];
      const keepsArtifact = resource.releases.some((other) => other !== release && other.builtBy === deploymentUuid);
      return [{ type: "retire", resourceId: resource.id, release: ref, deploymentId, keepsArtifact }];
    }
    case "candidate":
      return wanted.activeDeployments.has(deploymentUuid) ? [] : [{ type: "discard", release: ref, deploymentId }];
  }
}

function planLive(
  resource: WantedResource,
  release: WantedRelease,
  ref: ReleaseRef,
  state: ReleaseState | undefined,
  observed: Observed,
): Operation[] {
  const { deploymentId } = release;
  const isDown = state === undefined || DOWN.has(state.state);
  if (resource.desiredState === "stopped") {
    return isDown ? [] : [{ type: "stop", resourceId: resource.id, release: ref }];
  }
  if (isDown) {
    if (observed.resting.has(release.deploymentUuid)) return [];
    return [{ type: "start", resourceId: resource.id, release: ref, deploymentId }];
  }
  if (state.upstream === null || isSameUpstream(state.upstream, release.upstream)) return [];
  return [{ type: "set_upstream", deploymentId, upstream: state.upstream }];
}

function planRoute(resource: WantedResource, seen: Seen, { sites }: Observed): Operation[] {
  const wanted = wantedSite(resource, seen);
  const current = sites.get(resource.uuid);
  if (wanted === undefined) return current === undefined ? [] : [{ type: "unroute", siteId: resource.uuid }];
  return isSameSite(wanted, current) ? [] : [{ type: "route", resourceId: resource.id }];
}

function wantedSite(resource: WantedResource, seen: Seen): Site | undefined {
  if (resource.site === undefined) return undefined;
  const live = liveOf(resource);
  return siteOf(resource.site, upstreamsOf(resource.desiredState, live, live && seen.get(live.deploymentUuid)));
}

function planUnrecorded({ resources, activeDeployments }: Wanted, { releases }: Observed): Operation[] {
  const recorded = new Set(resources.flatMap((resource) => resource.releases.map((release) => release.deploymentUuid)));
  const builders = new Set(resources.flatMap((resource) => resource.releases.map((release) => release.builtBy)));
  const removing = new Set(resources.filter(({ isRemoving }) => isRemoving).map(({ uuid }) => uuid));
  return releases.flatMap(({ resourceUuid, deploymentUuid, state }): Operation[] => {
    if (recorded.has(deploymentUuid) || activeDeployments.has(deploymentUuid) || removing.has(resourceUuid)) return [];
    const release = { resourceUuid, deploymentUuid };
    if (!builders.has(deploymentUuid)) return [{ type: "remove", release }];
    // A restarted release runs what this one built: it must not run itself, but what it built is in use.
    return DOWN.has(state) ? [] : [{ type: "stop", resourceId: null, release }];
  });
}

function planGoneSites({ resources }: Wanted, { sites }: Observed): Operation[] {
  const uuids = new Set(resources.map(({ uuid }) => uuid));
  return [...sites.keys()].filter((siteId) => !uuids.has(siteId)).map((siteId) => ({ type: "unroute", siteId }));
}

function statusOf(resource: WantedResource, seen: Seen, { activeDeployments }: Wanted, { health }: Observed): string {
  if (resource.isRemoving) return REMOVING_STATUS;
  const live = liveOf(resource);
  const state = live && seen.get(live.deploymentUuid);
  if (live && state) {
    const container: ContainerStatus = {
      state: state.state,
      health: health.get(live.deploymentUuid) ?? "unknown",
      // What was stopped on purpose is no crash loop, however often it restarted before.
      restartCount: resource.desiredState === "stopped" ? 0 : state.restartCount,
    };
    return aggregateStatus([container]);
  }
  const isFirstStart = resource.releases.some(
    ({ role, pullRequestId, deploymentUuid }) =>
      role === "candidate" && pullRequestId === 0 && activeDeployments.has(deploymentUuid) && seen.has(deploymentUuid),
  );
  return isFirstStart && !live ? STARTING_STATUS : STOPPED_STATUS;
}

function setStatus({ id, status: current }: WantedResource, status: string): Operation[] {
  return current === status ? [] : [{ type: "set_status", resourceId: id, status }];
}

function setRestarts(resource: WantedResource, seen: Seen): Operation[] {
  const live = liveOf(resource);
  const restartCount = (live && seen.get(live.deploymentUuid)?.restartCount) ?? 0;
  if (restartCount === resource.restartCount) return [];
  return [{ type: "set_restarts", resourceId: resource.id, restartCount }];
}

const liveOf = ({ releases }: WantedResource): WantedRelease | undefined =>
  releases.find(({ role, pullRequestId }) => role === "live" && pullRequestId === 0);

const isSameUpstream = (one: Upstream, other: Upstream | null): boolean =>
  one.host === other?.host && one.port === other.port;

/** Both were made by `siteOf`, so their keys stand in one order. */
const isSameSite = (one: Site, other: Site | undefined): boolean => JSON.stringify(one) === JSON.stringify(other);

const DOWN: ReadonlySet<ReleaseState["state"]> = new Set(["created", "exited", "dead"]);
