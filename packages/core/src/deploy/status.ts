import type { ContainerState, Health } from "./container-state.ts";

export interface ContainerStatus {
  readonly state: ContainerState | "degraded";
  readonly health: Health;
  readonly restartCount: number;
}

/** The status of an application or database that never ran or is stopped: unknown health is shown as unhealthy. */
export const STOPPED_STATUS = "exited:unhealthy";
export const STARTING_STATUS = "starting:unknown";
/** The status of what should run, and does not or not all of it. */
export const DEGRADED_STATUS = "degraded:unhealthy";
/** The status during a removal. */
export const REMOVING_STATUS = "removing:unhealthy";

/** The status `state:health` of an application or database, from its containers. */
export const aggregateStatus = (containers: readonly ContainerStatus[]): string =>
  aggregate(containers, { restarting: "restarting:unknown", stopped: STOPPED_STATUS });

/** The status of a service that never ran or is stopped, which shows no health. */
export const STOPPED_SERVICE_STATUS = "exited";
/** The status after a start was requested, until its containers are observed. */
const STARTING_SERVICE_STATUS = "starting:unhealthy";
const NO_CONTAINERS_STATUS = "unknown:unknown:excluded";

/**
 * The status of a service, from its containers. Excluded ones count only if all are excluded, and the status then
 * says so.
 */
export function aggregateServiceStatus(
  containers: readonly (ContainerStatus & { readonly isExcluded: boolean })[],
  { isStarting }: { readonly isStarting: boolean },
): string {
  if (isStarting) return STARTING_SERVICE_STATUS;
  if (containers.length === 0) return NO_CONTAINERS_STATUS;
  const words = { restarting: DEGRADED_STATUS, stopped: STOPPED_SERVICE_STATUS };
  const counted = containers.filter(({ isExcluded }) => !isExcluded);
  if (counted.length > 0) return aggregate(counted, words);
  const status = aggregate(containers, words);
  const [state = "", health] = status.split(":");
  if (health === undefined) return status;
  return state === "running" ? `${status}:excluded` : `${state}:excluded`;
}

/** The first matching rule decides. */
function aggregate(
  containers: readonly ContainerStatus[],
  words: { readonly restarting: string; readonly stopped: string },
): string {
  const has = (...states: readonly ContainerStatus["state"][]) =>
    containers.some(({ state }) => states.includes(state));
  const isCrashLoop = containers.some(({ state, restartCount }) => state === "exited" && restartCount > 0);

  if (containers.length === 0) return words.stopped;
  if (has("degraded")) return DEGRADED_STATUS;
  if (has("restarting")) return words.restarting;
  if (isCrashLoop || (has("running") && has("exited"))) return DEGRADED_STATUS;
  if (has("running") && has("starting", "created")) return STARTING_STATUS;
  if (has("running")) return `running:${runningHealth(containers)}`;
  if (has("dead", "removing")) return DEGRADED_STATUS;
  if (has("paused")) return "paused:unknown";
  if (has("starting", "created")) return STARTING_STATUS;
  return words.stopped;
}

function runningHealth(containers: readonly ContainerStatus[]): Health {
  if (containers.some(({ health }) => health === "unhealthy")) return "unhealthy";
  return containers.some(({ health }) => health === "unknown") ? "unknown" : "healthy";
}
