import type { ReleaseLimits, ReleaseState } from "@berth/core/deploy";
import { type HostUser, isRoot } from "@berth/host";
import type { Cgroups } from "./cgroup.ts";
import type { Isolation } from "./isolation.ts";
import { LOG_LIMITS, type LogLimits } from "./log-file.ts";
import { PORT_RANGE, type PortPool, type PortRange } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

/** Settings of the process engine. */
export interface ProcessSettings {
  /** As root, a resource's processes run with the user and group id of this plus the resource's number. */
  readonly uidBase: number;
  /** Default of HOST for applications. */
  readonly hostAddress: string;
  readonly ports: PortRange;
  readonly restart: RestartSettings;
  readonly log: LogLimits;
  /** Limit of processes and threads of one release, where the kernel supports it. */
  readonly processesMax: number;
  /** The same limit for a build, which may start a worker for each processor. */
  readonly buildProcessesMax: number;
  /** Limits of one build, where the kernel supports them; files in its /tmp count as memory. */
  readonly buildLimits: ReleaseLimits;
}

export interface RestartSettings {
  /** Delay after the first crash; doubles with each further one. */
  readonly delayMsMin: number;
  readonly delayMsMax: number;
  /** After running this long, the next crash counts as the first again. */
  readonly stableSeconds: number;
}

export const PROCESS_SETTINGS: ProcessSettings = {
  uidBase: 700_000, // Above the ids of distributions and useradd, below the usual ranges of user namespaces.
  hostAddress: "0.0.0.0",
  ports: PORT_RANGE,
  restart: { delayMsMin: 200, delayMsMax: 30_000, stableSeconds: 10 },
  log: LOG_LIMITS,
  processesMax: 512,
  buildProcessesMax: 2048,
  buildLimits: { memoryBytes: null, cpus: null },
};

/** Ids of one instance: one for each resource that it has ever had. */
export const USER_RANGE_SIZE = 1_000_000;

/** Context that all releases of an engine share. */
export interface ReleaseHost {
  readonly dataFolder: string;
  readonly settings: ProcessSettings;
  readonly runtime: Runtime;
  readonly ports: PortPool;
  readonly cgroups: Cgroups;
  readonly isolation: Isolation;
  /** Calls the listeners; never throws. */
  emit(state: ReleaseState): void;
  /** Reports failures of background work. */
  warn(message: string, cause: unknown): void;
}

/** Whether `userOf` can return this user id, so that only an application uses it. */
export const isOwnUid = (settings: ProcessSettings, uid: number): boolean =>
  isRoot() && uid > settings.uidBase && uid < settings.uidBase + USER_RANGE_SIZE;

/** User of a resource's processes; `undefined` when we are not root and they run as our own user. */
export function userOf(settings: ProcessSettings, resourceNumber: number): HostUser | undefined {
  if (!isRoot()) return undefined;
  if (!Number.isSafeInteger(resourceNumber) || resourceNumber < 1 || resourceNumber >= USER_RANGE_SIZE) {
    throw new RangeError(`A resource number is between 1 and ${USER_RANGE_SIZE - 1}.`);
  }
  const id = settings.uidBase + resourceNumber;
  return { uid: id, gid: id };
}
