import type { Site } from "../ports/proxy.ts";
import type { DesiredState } from "../resource/resource.ts";
import type { Health } from "./container-state.ts";
import type { ReleaseState } from "./release.ts";
import { type SiteSubject, siteOf, upstreamsOf } from "./site.ts";
import { aggregateStatus, type ContainerStatus, REMOVING_STATUS, STARTING_STATUS, STOPPED_STATUS } from "./status.ts";
import type { Observed, Wanted, WantedRelease, WantedResource } from "./wanted.ts";

/** Observed releases by the uuid of their deployment. */
export type Seen = ReadonlyMap<string, ReleaseState>;

/** A part of a resource with its own live release and sites: the resource itself or a preview. */
export interface Part {
  readonly pullRequestId: number;
  readonly desiredState: DesiredState;
  readonly isRemoving: boolean;
  readonly status: string;
  readonly sites: readonly SiteSubject[];
}

export function ownPart(resource: WantedResource): Part {
  const { desiredState, isRemoving, status, sites } = resource;
  return { pullRequestId: 0, desiredState, isRemoving, status, sites: sitesHere(resource, 0, sites) };
}

export const partsOf = (resource: WantedResource): readonly Part[] => [
  ownPart(resource),
  ...resource.previews.map((preview): Part => {
    const sites = sitesHere(resource, preview.pullRequestId, preview.sites);
    return { ...preview, desiredState: "running", sites };
  }),
];

/** The server that a resource left answers its URLs only until its release there is replaced. */
const sitesHere = (resource: WantedResource, pullRequestId: number, sites: Part["sites"]): Part["sites"] =>
  resource.hasLeft && liveOf(resource, pullRequestId) === undefined ? [] : sites;

export function wantedSites(
  resource: WantedResource,
  { pullRequestId, desiredState, sites }: Part,
  seen: Seen,
): readonly Site[] {
  if (resource.restingSites !== undefined) return resource.restingSites;
  const live = liveOf(resource, pullRequestId);
  const state = live && seen.get(live.deploymentUuid);
  const replicas = pullRequestId === 0 ? resource.replicas : undefined;
  const target = { desiredState, live, observed: state, replicas };
  return sites.map((subject) => siteOf(subject, upstreamsOf(target, subject.container)));
}

/** All sites of a server, for a proxy that needs the whole table. */
export function sitesOf({ resources }: Wanted, releases: Observed["releases"]): readonly Site[] {
  const seen = new Map(releases.map((release) => [release.deploymentUuid, release]));
  return resources
    .filter(({ isRemoving }) => !isRemoving)
    .flatMap((resource) =>
      partsOf(resource)
        .filter(({ isRemoving }) => !isRemoving)
        .flatMap((part) => wantedSites(resource, part, seen)),
    );
}

export function statusOf(
  resource: WantedResource,
  { pullRequestId, desiredState, isRemoving }: Part,
  seen: Seen,
  { activeDeployments }: Wanted,
  { health }: Observed,
): string {
  if (isRemoving) return REMOVING_STATUS;
  const live = liveOf(resource, pullRequestId);
  const state = live && seen.get(live.deploymentUuid);
  if (live && state) {
    const container: ContainerStatus = {
      // Of a preview, no reason is recorded.
      state:
        state.problem === undefined || desiredState === "stopped" || pullRequestId !== 0 ? state.state : "degraded",
      health: ownHealth(state) ?? health.get(live.deploymentUuid) ?? "unknown",
      // A stopped release is not in a crash loop, however often it restarted before.
      restartCount: desiredState === "stopped" ? 0 : state.restartCount,
    };
    return aggregateStatus([container]);
  }
  const isFirstStart = resource.releases.some(
    (release) =>
      release.role === "candidate" &&
      release.pullRequestId === pullRequestId &&
      activeDeployments.has(release.deploymentUuid) &&
      seen.has(release.deploymentUuid),
  );
  return isFirstStart && !live ? STARTING_STATUS : STOPPED_STATUS;
}

/** The engine's own check is newer than any probe of Berth. Until it has a result, the deployment's probes count. */
const ownHealth = ({ health }: ReleaseState): Health | undefined => (health === "starting" ? undefined : health);

export const liveOf = ({ releases }: WantedResource, pullRequest: number): WantedRelease | undefined =>
  releases.find(({ role, pullRequestId }) => role === "live" && pullRequestId === pullRequest);
