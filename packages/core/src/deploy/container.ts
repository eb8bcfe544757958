import type { Argv } from "../argv.ts";

/** Options of a release that only container engines read. */
export interface ContainerOptions {
  /** Arguments for the image's entrypoint instead of the image's own; `null`: the image's own. */
  readonly command: Argv | null;
  /** Health check that the engine runs; for `null` see `hasImageHealthCheck`. */
  readonly healthCheck: ContainerHealthCheck | null;
  /** Whether it gets the variables `HOST` and `PORT`. */
  readonly isToldPort: boolean;
  /** Additional names by which other containers of the network reach it. */
  readonly networkAliases: readonly string[];
  /** Ports of the server that are mapped to it. Two releases with the same ports never run at the same time. */
  readonly portMappings: readonly PortMapping[];
  /** Labels set by the user, unchanged. */
  readonly labels: Readonly<Record<string, string>>;
  readonly run: RunOptions;
  readonly limits: ContainerLimits;
  /** Whether the engine runs the image's own HEALTHCHECK; false where the application has a check of its own. */
  readonly hasImageHealthCheck: boolean;
}

/** The options of Docker's HEALTHCHECK. */
export interface ContainerHealthCheck {
  /** Healthy when it exits with 0. */
  readonly argv: Argv;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  /** Consecutive failures that make it unhealthy. */
  readonly retries: number;
  /** Failures in this first period do not count. */
  readonly startPeriodSeconds: number;
}

export interface PortMapping {
  readonly serverPort: number;
  readonly containerPort: number;
}

/** Limits that only containers have. `null`: the engine's default. */
export interface ContainerLimits {
  /** Memory and swap together; -1: unlimited swap. */
  readonly memorySwapBytes: number | null;
  readonly memorySwappiness: number | null;
  readonly memoryReservationBytes: number | null;
  /** Processors it may run on, such as `0-2,4`. */
  readonly cpuset: string | null;
  readonly cpuShares: number | null;
}

/** Options of `docker run` that have no setting of their own. */
export interface RunOptions {
  readonly capAdd: readonly string[];
  readonly capDrop: readonly string[];
  readonly securityOpt: readonly string[];
  readonly sysctls: Readonly<Record<string, string>>;
  readonly ulimits: readonly Ulimit[];
  readonly devices: readonly Device[];
  readonly gpus: Gpus | null;
  readonly shmBytes: number | null;
  readonly tmpfs: Readonly<Record<string, string>>;
  readonly extraHosts: readonly string[];
  readonly dns: readonly string[];
  readonly groups: readonly string[];
  /** `null`: true, since most programs neither reap children nor handle signals as the first process. */
  readonly hasInit: boolean | null;
  readonly isPrivileged: boolean;
  readonly isReadOnly: boolean;
  readonly hostname: string | null;
  readonly ip: string | null;
  readonly user: string | null;
  readonly workingFolder: string | null;
  readonly entrypoint: string | null;
  readonly stopSignal: string | null;
  readonly processesMax: number | null;
}

export interface Ulimit {
  readonly name: string;
  readonly soft: number;
  readonly hard: number;
}

export interface Device {
  readonly hostPath: string;
  readonly containerPath: string;
  readonly permissions: string;
}

export interface Gpus {
  /** Left out: the engine's default. */
  readonly driver?: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly count: number | "all";
  readonly ids: readonly string[];
}
