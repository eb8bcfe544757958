import type { Argv } from "../argv.ts";

/** Options of a release that only container engines read. */
export interface ContainerOptions {
  /** Arguments instead of the image's own; its entrypoint gets them. `null`: the image's own. */
  readonly command: Argv | null;
  /** Health check that the engine runs; for `null` see `hasImageHealthCheck`. */
  readonly healthCheck: ContainerHealthCheck | null;
  /** Whether the variables `HOST` and `PORT` tell it where to listen. */
  readonly isToldPort: boolean;
  /** Names under which other containers of the network find it, beside its own. */
  readonly networkAliases: readonly string[];
  /** Ports of the server that lead to it: two releases with the same ones never run at the same time. */
  readonly portMappings: readonly PortMapping[];
  /** The user's own, byte for byte. */
  readonly labels: Readonly<Record<string, string>>;
  readonly run: RunOptions;
  readonly limits: ContainerLimits;
  /** Whether the image's own HEALTHCHECK is run; not where the application has another one. */
  readonly hasImageHealthCheck: boolean;
}

/** As Docker's HEALTHCHECK. */
export interface ContainerHealthCheck {
  /** Healthy when it exits with 0. */
  readonly argv: Argv;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  /** Failures in a row that mean unhealthy. */
  readonly retries: number;
  /** In this first period failures do not count. */
  readonly startPeriodSeconds: number;
}

export interface PortMapping {
  readonly serverPort: number;
  readonly containerPort: number;
}

/** Beyond those of every release. `null`: the engine's default. */
export interface ContainerLimits {
  /** Memory and swap together; -1: swap without limit. */
  readonly memorySwapBytes: number | null;
  readonly memorySwappiness: number | null;
  readonly memoryReservationBytes: number | null;
  /** Processors it may run on, such as `0-2,4`. */
  readonly cpuset: string | null;
  readonly cpuShares: number | null;
}

/** Options of a container beyond the settings with their own fields. */
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
  /** `null`: yes, since a program that reaps no children and heeds no signal is the usual one. */
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
  /** Left out: the engine's choice. */
  readonly driver?: string;
  readonly options?: Readonly<Record<string, string>>;
  readonly count: number | "all";
  readonly ids: readonly string[];
}
