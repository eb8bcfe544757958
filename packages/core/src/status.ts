import type { ContainerState } from "./deploy/release.ts";

/** What probes say of a container. `unknown`: not probed yet, or nothing to probe. */
export type Health = "healthy" | "unhealthy" | "unknown";

export interface ContainerStatus {
  readonly state: ContainerState | "degraded";
  readonly health: Health;
  readonly restartCount: number;
}

/** The status of an application or database that never ran or was stopped: one without health counts as unhealthy. */
export const STOPPED_STATUS = "exited:unhealthy";
export const STARTING_STATUS = "starting:unknown";
/** While the removal that was asked for is under way. */
export const REMOVING_STATUS = "removing:unhealthy";

/** One `state:health` of the containers of an application or database; the first rule that fits decides. */
export function aggregateStatus(containers: readonly ContainerStatus[]): string {
  const has = (...states: readonly ContainerStatus["state"][]) =>
    containers.some(({ state }) => states.includes(state));
  const isCrashLoop = containers.some(({ state, restartCount }) => state === "exited" && restartCount > 0);

  if (containers.length === 0) return STOPPED_STATUS;
  if (has("degraded")) return "degraded:unhealthy";
  if (has("restarting")) return "restarting:unknown";
  if (isCrashLoop || (has("running") && has("exited"))) return "degraded:unhealthy";
  if (has("running") && has("starting", "created")) return STARTING_STATUS;
  if (has("running")) return `running:${runningHealth(containers)}`;
  if (has("dead", "removing")) return "degraded:unhealthy";
  if (has("paused")) return "paused:unknown";
  if (has("starting", "created")) return STARTING_STATUS;
  return STOPPED_STATUS;
}

function runningHealth(containers: readonly ContainerStatus[]): Health {
  if (containers.some(({ health }) => health === "unhealthy")) return "unhealthy";
  return containers.some(({ health }) => health === "unknown") ? "unknown" : "healthy";
}
