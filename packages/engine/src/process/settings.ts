import type { ReleaseLimits, ReleaseState } from "@berth/core/deploy";
import { type HostUser, isRoot } from "@berth/host";
import type { Cgroups } from "./cgroup.ts";
import type { Isolation } from "./isolation.ts";
import { LOG_LIMITS, type LogLimits } from "./log-file.ts";
import { PORT_RANGE, type PortPool, type PortRange } from "./ports.ts";
import type { Runtime } from "./runtime.ts";

/** Settings of the process engine. */
export interface ProcessSettings {
  /** When we are root, the user and group id of a resource is this plus its number. */
  readonly uidBase: number;
  /** The applications' HOST, unless they set their own. */
  readonly hostAddress: string;
  readonly ports: PortRange;
  readonly restart: RestartSettings;
  readonly log: LogLimits;
  /** Processes and threads of one release, where the kernel lets us limit them. */
  readonly processesMax: number;
  /** The same of one build, which may use a worker for each processor. */
  readonly buildProcessesMax: number;
  /** Limits of one build, where the kernel lets us set them; what it writes into its /tmp counts as memory. */
  readonly buildLimits: ReleaseLimits;
}

export interface RestartSettings {
  /** After the first crash; doubles with each further one. */
  readonly delayMsMin: number;
  readonly delayMsMax: number;
  /** After running this long it counts as recovered, and the next crash as the first. */
  readonly stableSeconds: number;
}

export const PROCESS_SETTINGS: ProcessSettings = {
  uidBase: 700_000, // Above what distributions and useradd give out, below the ranges of user namespaces in use.
  hostAddress: "0.0.0.0",
  ports: PORT_RANGE,
  restart: { delayMsMin: 200, delayMsMax: 30_000, stableSeconds: 10 },
  log: LOG_LIMITS,
  processesMax: 512,
  buildProcessesMax: 2048,
  buildLimits: { memoryBytes: null, cpus: null },
};

/** Users of one instance: one for each resource that it has ever had. */
export const USER_RANGE_SIZE = 1_000_000;

/** Context that all releases of an engine share. */
export interface ReleaseHost {
  readonly dataFolder: string;
  readonly settings: ProcessSettings;
  readonly runtime: Runtime;
  readonly ports: PortPool;
  readonly cgroups: Cgroups;
  readonly isolation: Isolation;
  /** Tells the listeners; never throws. */
  emit(state: ReleaseState): void;
  /** For what fails in the background, where nobody waits for it. */
  warn(message: string, cause: unknown): void;
}

/** Whether a user id is one that `userOf` gives, so that nobody but an application uses it. */
export const isOwnUid = (settings: ProcessSettings, uid: number): boolean =>
  isRoot() && uid > settings.uidBase && uid < settings.uidBase + USER_RANGE_SIZE;

/** User of a resource's processes; `undefined` when we are not root and they run as we do. */
export function userOf(settings: ProcessSettings, resourceNumber: number): HostUser | undefined {
  if (!isRoot()) return undefined;
  if (!Number.isSafeInteger(resourceNumber) || resourceNumber < 1 || resourceNumber >= USER_RANGE_SIZE) {
    throw new RangeError(`A resource number is between 1 and ${USER_RANGE_SIZE - 1}.`);
  }
  const id = settings.uidBase + resourceNumber;
  return { uid: id, gid: id };
}
