import type { Health } from "./container-state.ts";
import { liveOf, type Seen } from "./parts.ts";
import type { ReleaseContainer, ReleaseState } from "./release.ts";
import { aggregateServiceStatus, type ContainerStatus, DEGRADED_STATUS, REMOVING_STATUS } from "./status.ts";
import type { Observed, Wanted, WantedContainer, WantedResource } from "./wanted.ts";

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
  { health }: Pick<Observed, "health">,
): ServiceStatus {
  const live = liveOf(resource, 0);
  const state = live && seen.get(live.deploymentUuid);
  const isStarting =
    !isUp(state) &&
    resource.releases.some(
      ({ role, pullRequestId, deploymentUuid }) =>
        role === "candidate" && pullRequestId === 0 && activeDeployments.has(deploymentUuid),
    );
  const now = containerStatuses(containers, state, {
    isStarting,
    isStopped: resource.desiredState === "stopped",
    startingHealth: live && health.get(live.deploymentUuid),
  });
  if (resource.isRemoving) return { ...now, status: REMOVING_STATUS };
  const isLost = state?.problem !== undefined && resource.desiredState !== "stopped" && !isStarting;
  return isLost ? { ...now, status: DEGRADED_STATUS } : now;
}

/**
 * Statuses of the containers of one release.
 * @param options.startingHealth Of containers whose check the engine has not run yet: what the deployment found.
 */
export function containerStatuses(
  containers: readonly Pick<WantedContainer, "name" | "isExcluded">[],
  state: ReleaseState | undefined,
  options: { readonly isStarting: boolean; readonly isStopped: boolean; readonly startingHealth?: Health | undefined },
): ServiceStatus {
  const states = containers.map(({ name, isExcluded }) => {
    const found = (state?.containers ?? []).filter((container) => container.name === name);
    const all = found.length === 0 ? [GONE] : found.map((one) => statusOf(one, options));
    return { name, all: all.map((one) => ({ ...one, isExcluded })) };
  });
  return {
    status: aggregateServiceStatus(
      states.flatMap(({ all }) => all),
      { isStarting: options.isStarting },
    ),
    containers: Object.fromEntries(states.map(({ name, all }) => [name, shown(all)])),
  };
}

const GONE: ContainerStatus = { state: "exited", health: "unknown", restartCount: 0 };

function statusOf(
  found: ReleaseContainer,
  { isStopped, startingHealth }: Parameters<typeof containerStatuses>[2],
): ContainerStatus {
  return {
    state: found.state,
    health: found.health === "starting" ? (startingHealth ?? "unknown") : (found.health ?? "unknown"),
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
