import type { Site } from "../ports/proxy.ts";
import type { Operation } from "./operation.ts";
import { liveOf, ownPart, type Part, partsOf, type Seen, statusOf, wantedSites } from "./parts.ts";
import type { ReleaseRef, ReleaseState, Upstream } from "./release.ts";
import { serviceStatusOf } from "./service-status.ts";
import { siteIdOf, sitePartOf, subjectId } from "./site.ts";
import { hasDoneItsWork } from "./stack-health.ts";
import type { Observed, Wanted, WantedContainer, WantedPreview, WantedRelease, WantedResource } from "./wanted.ts";

/**
 * The operations that bring a server to its recorded state; empty when there is nothing to do. Each may be repeated.
 */
export function plan(wanted: Wanted, observed: Observed): readonly Operation[] {
  const seen = new Map(observed.releases.map((release) => [release.deploymentUuid, release]));
  return [
    ...wanted.resources.flatMap((resource) => planResource(resource, seen, wanted, observed)),
    ...planUnrecorded(wanted, observed),
    ...planGoneSites(wanted, observed),
  ];
}

function planResource(resource: WantedResource, seen: Seen, wanted: Wanted, observed: Observed): Operation[] {
  if (resource.restingSites !== undefined) return planRoute(resource, ownPart(resource), seen, observed);
  if (resource.hasLeft) return planLeft(resource, seen, wanted, observed);
  const { containers } = resource;
  const status =
    containers === undefined
      ? setStatus(resource, statusOf(resource, ownPart(resource), seen, wanted, observed), seen, observed)
      : setStatuses(resource, containers, seen, wanted, observed);
  // The removal itself stops, unroutes and removes, in its own order.
  if (resource.isRemoving) return [...status, { type: "remove_resource", resourceId: resource.id }];
  const parts = partsOf(resource);
  return [
    // Statuses come first, as observed before any change; routes come before their old upstreams are removed.
    ...status,
    ...setRestarts(resource, seen),
    ...endScaleProblem(resource, seen),
    ...parts.flatMap((part) => planRoute(resource, part, seen, observed)),
    ...resource.previews.flatMap((preview) => planPreview(resource, preview, seen, wanted, observed)),
    ...resource.releases.flatMap((release) => {
      const part = parts.find(({ pullRequestId }) => pullRequestId === release.pullRequestId);
      return part?.isRemoving ? [] : planRelease(resource, part, release, seen, wanted, observed);
    }),
  ];
}

/**
 * What a resource left on this server keeps answering as it is, until its successor on the other server is live. It is
 * never started here again, since it may have been stopped to copy its data.
 */
function planLeft(resource: WantedResource, seen: Seen, wanted: Wanted, observed: Observed): Operation[] {
  if (resource.isRemoving) return [{ type: "remove_resource", resourceId: resource.id }];
  const parts = partsOf(resource);
  return [
    ...parts.flatMap((part) => planRoute(resource, part, seen, observed)),
    ...parts.flatMap(({ isRemoving, pullRequestId }): Operation[] =>
      isRemoving ? [{ type: "remove_preview", resourceId: resource.id, pullRequestId }] : [],
    ),
    ...resource.releases.flatMap((release) => {
      const part = parts.find(({ pullRequestId }) => pullRequestId === release.pullRequestId);
      return part?.isRemoving ? [] : planLeftRelease(resource, part, release, seen, wanted, observed);
    }),
  ];
}

function planLeftRelease(
  resource: WantedResource,
  part: Part | undefined,
  release: WantedRelease,
  seen: Seen,
  wanted: Wanted,
  observed: Observed,
): Operation[] {
  const { role, isSuperseded, deploymentId } = release;
  if (isSuperseded && (role === "live" || role === "kept")) return [{ type: "supersede", deploymentId }];
  if (role === "live" && part?.desiredState !== "stopped") return [];
  return planRelease(resource, part, release, seen, wanted, observed);
}

function planPreview(
  resource: WantedResource,
  preview: WantedPreview,
  seen: Seen,
  wanted: Wanted,
  observed: Observed,
): Operation[] {
  const { id, pullRequestId, isRemoving } = preview;
  const status = statusOf(resource, { ...preview, desiredState: "running" }, seen, wanted, observed);
  return [
    ...(status === preview.status ? [] : [{ type: "set_preview_status", previewId: id, status } as const]),
    ...(isRemoving ? [{ type: "remove_preview", resourceId: resource.id, pullRequestId } as const] : []),
  ];
}

/** @param part `undefined`: the release belongs to a removed preview. */
function planRelease(
  resource: WantedResource,
  part: Part | undefined,
  release: WantedRelease,
  seen: Seen,
  wanted: Wanted,
  observed: Observed,
): Operation[] {
  const { deploymentId, deploymentUuid, pullRequestId } = release;
  const ref: ReleaseRef = { resourceUuid: resource.uuid, deploymentUuid };
  switch (release.role) {
    case "live":
      if (part === undefined) return [];
      return planLive(resource, part, release, ref, seen.get(deploymentUuid), wanted, observed);
    case "retiring": {
      // The removal is the last step of the replacing deployment, so it waits until that has ended.
      if (release.isSuccessorActive) return [];
      const keepsArtifact = resource.releases.some((other) => other !== release && other.builtBy === deploymentUuid);
      const { id: resourceId, kind } = resource;
      return [{ type: "retire", resourceId, kind, pullRequestId, release: ref, deploymentId, keepsArtifact }];
    }
    case "kept": {
      // A kept build does not run. Old ones are removed when a new build joins them.
      const state = seen.get(deploymentUuid)?.state;
      return state === undefined || DOWN.has(state) ? [] : [{ type: "stop", resourceId: null, release: ref }];
    }
    case "candidate":
      return wanted.activeDeployments.has(deploymentUuid) ? [] : [{ type: "discard", release: ref, deploymentId }];
  }
}

function planLive(
  resource: WantedResource,
  part: Part,
  release: WantedRelease,
  ref: ReleaseRef,
  state: ReleaseState | undefined,
  wanted: Wanted,
  observed: Observed,
): Operation[] {
  const { deploymentId } = release;
  const isDown = state === undefined || DOWN.has(state.state);
  if (part.desiredState === "stopped") {
    // What waits for the node with its data would start with it.
    const isOff = isDown && state?.problem === undefined;
    return isOff ? [] : [{ type: "stop", resourceId: resource.id, release: ref }];
  }
  const restartCount = observed.restarts.get(release.deploymentUuid) ?? 0;
  const { restartCountMax = 0 } = resource;
  // Users cannot start or stop a preview, so it is never given up.
  if (restartCountMax > 0 && restartCount > restartCountMax && part.pullRequestId === 0) {
    return [{ type: "give_up", resourceId: resource.id, release: ref, restartCount, restartCountMax }];
  }
  if (isDown || (isPartlyStopped(state) && !resource.isDeploying)) {
    if (state !== undefined && isOver(state)) return [];
    if (observed.backingOff.has(release.deploymentUuid) || hasGivenWay(resource, part, wanted)) return [];
    return [{ type: "start", resourceId: resource.id, release: ref, deploymentId }];
  }
  const { replicas } = resource;
  const isScaled = part.pullRequestId !== 0 || resource.isDeploying || hasReplicas(state, replicas);
  const isMoved = state.upstream !== null && !isSameUpstream(state.upstream, release.upstream);
  return [
    ...(replicas === undefined || isScaled || observed.backingOff.has(release.deploymentUuid)
      ? []
      : [{ type: "scale", resourceId: resource.id, release: ref, deploymentId, replicas } as const]),
    ...(isMoved && state.upstream ? [{ type: "set_upstream", deploymentId, upstream: state.upstream } as const] : []),
    ...(hasOtherName(state) && !observed.unnamed.has(release.deploymentUuid)
      ? [{ type: "take_name", resourceId: resource.id, release: ref, deploymentId } as const]
      : []),
  ];
}

/** Containers that were never started are left over from an attempt that broke off. */
const hasReplicas = ({ containers }: ReleaseState, replicas: number | undefined): boolean =>
  replicas === undefined ||
  (containers === undefined
    ? replicas === 1
    : containers.length === replicas && containers.every(({ state }) => state !== "created"));

/** Its deployment has not given it the lasting name yet, or somebody has renamed it. */
const hasOtherName = ({ containerName }: ReleaseState): boolean =>
  containerName !== undefined && containerName.now !== containerName.wanted;
/** Some of its containers were stopped for replacements that never started, or by hand. */
const isPartlyStopped = ({ containers = [] }: ReleaseState): boolean =>
  containers.some((container) => container.isStopped === true);

/** All of its containers run once and have succeeded. */
const isOver = ({ containers = [] }: ReleaseState): boolean =>
  containers.length > 0 && containers.every((one) => one.isExcluded && hasDoneItsWork(one));

/** It was stopped for a deployment in progress, or for one that starts another release in a moment. */
const hasGivenWay = (
  { isAlone, isDeploying, releases }: WantedResource,
  { pullRequestId }: Part,
  { activeDeployments }: Wanted,
) =>
  isAlone &&
  ((isDeploying && pullRequestId === 0) ||
    releases.some(
      (other) =>
        other.role === "candidate" &&
        other.pullRequestId === pullRequestId &&
        activeDeployments.has(other.deploymentUuid),
    ));

function planRoute(resource: WantedResource, part: Part, seen: Seen, { sites }: Observed): Operation[] {
  if (part.isRemoving) return [];
  const { pullRequestId } = part;
  const isRouted = wantedSites(resource, part, seen).every((site) => isSameSite(site, sites.get(site.id)));
  return isRouted ? [] : [{ type: "route", resourceId: resource.id, kind: resource.kind, pullRequestId }];
}

function planUnrecorded({ resources, activeDeployments }: Wanted, { releases }: Observed): Operation[] {
  const recorded = new Set(resources.flatMap((resource) => resource.releases.map((release) => release.deploymentUuid)));
  const builders = new Set(resources.flatMap((resource) => resource.releases.map((release) => release.builtBy)));
  const removing = new Set(resources.filter(({ isRemoving }) => isRemoving).map(({ uuid }) => uuid));
  return releases.flatMap(({ resourceUuid, deploymentUuid, state }): Operation[] => {
    if (recorded.has(deploymentUuid) || activeDeployments.has(deploymentUuid) || removing.has(resourceUuid)) return [];
    const release = { resourceUuid, deploymentUuid };
    if (!builders.has(deploymentUuid)) return [{ type: "remove", release }];
    // A restarted release uses this one's build: this one must not run, but its build is needed.
    return DOWN.has(state) ? [] : [{ type: "stop", resourceId: null, release }];
  });
}

function planGoneSites({ resources }: Wanted, { sites }: Observed): Operation[] {
  // Most sites are known, so only the others are looked at closely: a server may have ten thousand.
  const known = new Set(resources.flatMap(knownSites));
  const unknown = [...sites.keys()].filter((siteId) => !known.has(siteId));
  if (unknown.length === 0) return [];
  // A removal unroutes by itself, in its own order.
  const removing = new Set(resources.flatMap(removingParts));
  return unknown.flatMap((siteId) => (removing.has(sitePartOf(siteId)) ? [] : [{ type: "unroute", siteId }]));
}

const knownSites = (resource: WantedResource): readonly string[] =>
  resource.restingSites?.map(({ id }) => id) ?? partsOf(resource).flatMap((part) => part.sites.map(subjectId));

const removingParts = (resource: WantedResource): readonly string[] =>
  resource.restingSites !== undefined
    ? []
    : partsOf(resource).flatMap((part) => (part.isRemoving ? [siteIdOf(resource.uuid, part.pullRequestId)] : []));

function setStatus(resource: WantedResource, status: string, seen: Seen, observed: Observed): Operation[] {
  const problem = problemOf(resource, seen, observed);
  const isSame = resource.status === status && (resource.statusProblem ?? null) === problem;
  return isSame ? [] : [{ type: "set_status", resourceId: resource.id, status, replaces: resource.status, problem }];
}

/** Why its live release cannot run, or was stopped by Berth. */
function problemOf(resource: WantedResource, seen: Seen, { startProblems }: Observed): string | null {
  if (resource.isRemoving) return null;
  if (resource.desiredState === "stopped") return resource.stopReason ?? null;
  const live = liveOf(resource, 0);
  if (live === undefined) return null;
  const state = seen.get(live.deploymentUuid);
  const isDown = state === undefined || DOWN.has(state.state);
  return state?.problem ?? (isDown ? startProblems.get(live.deploymentUuid) : undefined) ?? null;
}

function setStatuses(
  resource: WantedResource,
  containers: readonly WantedContainer[],
  seen: Seen,
  wanted: Wanted,
  observed: Observed,
): Operation[] {
  const problem = problemOf(resource, seen, observed);
  const now = { ...serviceStatusOf(resource, containers, seen, wanted, observed), problem };
  const isSame =
    resource.status === now.status &&
    (resource.statusProblem ?? null) === problem &&
    containers.every(({ name, status }) => now.containers[name] === status);
  return isSame ? [] : [{ type: "set_statuses", resourceId: resource.id, replaces: resource.status, ...now }];
}

function setRestarts(resource: WantedResource, seen: Seen): Operation[] {
  // Restarts of a service are counted per container.
  if (resource.containers !== undefined) return [];
  const live = liveOf(resource, 0);
  const restartCount = (live && seen.get(live.deploymentUuid)?.restartCount) ?? 0;
  if (restartCount === resource.restartCount) return [];
  return [{ type: "set_restarts", resourceId: resource.id, restartCount }];
}

function endScaleProblem(resource: WantedResource, seen: Seen): Operation[] {
  if (!resource.hasScaleProblem) return [];
  const live = liveOf(resource, 0);
  const state = live && seen.get(live.deploymentUuid);
  const isAsked = resource.desiredState === "running" && live !== undefined;
  // What a missing release will have is not known before it runs again.
  if (isAsked && (state === undefined || !hasReplicas(state, resource.replicas))) return [];
  return [{ type: "end_scale_problem", resourceId: resource.id }];
}

export const isSameUpstream = (one: Upstream, other: Upstream | null): boolean =>
  one.host === other?.host && one.port === other.port;

/** Both come from `siteOf`, so their keys have the same order. */
const isSameSite = (one: Site, other: Site | undefined): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

const DOWN: ReadonlySet<ReleaseState["state"]> = new Set(["created", "exited", "dead"]);
