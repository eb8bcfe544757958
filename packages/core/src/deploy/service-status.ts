import { liveOf, type Seen } from "./parts.ts";
import type { ReleaseContainer, ReleaseState } from "./release.ts";
import { aggregateServiceStatus, type ContainerStatus, REMOVING_STATUS } from "./status.ts";
import type { Wanted, WantedContainer, WantedResource } from "./wanted.ts";

export interface ServiceStatus {
  readonly status: string;
  /** By name. */
  readonly containers: Readonly<Record<string, string>>;
}

/** Shown statuses of a service and of each of its containers. */
export function serviceStatusOf(
  resource: WantedResource,
  containers: readonly WantedContainer[],
  seen: Seen,
  { activeDeployments }: Wanted,
): ServiceStatus {
  const live = liveOf(resource, 0);
  const state = live && seen.get(live.deploymentUuid);
  const isStarting =
    !isUp(state) &&
    resource.releases.some(
      ({ role, pullRequestId, deploymentUuid }) =>
        role === "candidate" && pullRequestId === 0 && activeDeployments.has(deploymentUuid),
    );
  const now = containerStatuses(containers, state, { isStarting, isStopped: resource.desiredState === "stopped" });
  return resource.isRemoving ? { ...now, status: REMOVING_STATUS } : now;
}

/** Statuses of the containers of one release. */
export function containerStatuses(
  containers: readonly Pick<WantedContainer, "name" | "isExcluded">[],
  state: ReleaseState | undefined,
  { isStarting, isStopped }: { readonly isStarting: boolean; readonly isStopped: boolean },
): ServiceStatus {
  const states = containers.map(({ name, isExcluded }) => {
    const found = (state?.containers ?? []).filter((container) => container.name === name);
    const all = found.length === 0 ? [GONE] : found.map((one) => statusOf(one, isStopped));
    return { name, all: all.map((one) => ({ ...one, isExcluded })) };
  });
  return {
    status: aggregateServiceStatus(
      states.flatMap(({ all }) => all),
      { isStarting },
    ),
    containers: Object.fromEntries(states.map(({ name, all }) => [name, shown(all)])),
  };
}

const GONE: ContainerStatus = { state: "exited", health: "unknown", restartCount: 0 };

function statusOf(found: ReleaseContainer, isStopped: boolean): ContainerStatus {
  return {
    state: found.state,
    health: found.health === "starting" ? "unknown" : (found.health ?? "unknown"),
    // A stopped release is not in a crash loop, however often it restarted before.
    restartCount: isStopped ? 0 : found.restartCount,
  };
}

/** Combined status of the containers of one compose service. */
function shown(all: readonly ContainerStatus[]): string {
  const [only, ...others] = all;
  if (others.length > 0) return aggregateServiceStatus(all.map(counted), { isStarting: false });
  const { state, health } = only ?? GONE;
  return state === "exited" ? state : `${state}:${health}`;
}

const counted = (one: ContainerStatus) => ({ ...one, isExcluded: false });

const isUp = (state: ReleaseState | undefined): boolean => state?.state === "running" || state?.state === "restarting";
