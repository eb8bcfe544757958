import type { ResourceKind } from "../resource/resource.ts";
import type { Artifact } from "./artifact.ts";
import type { ContainerOptions } from "./container.ts";
import type { ContainerState, Health } from "./container-state.ts";
import type { StackOptions } from "./stack.ts";
import type { StorageMount } from "./storage-mount.ts";

/** The permanent identity of a release: the deployment that made it. */
export interface ReleaseRef {
  readonly resourceUuid: string;
  readonly deploymentUuid: string;
}

/** Input of an engine to run a release. `env` contains secrets: stored only in files of mode 0600. */
export interface ReleaseSpec extends ReleaseRef {
  /** Positive number of the resource, unique on the instance; an engine may derive a user id from it. */
  readonly resourceNumber: number;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly artifact: Artifact;
  readonly env: Readonly<Record<string, string>>;
  /** Ports that the application listens on. The first one receives the traffic. */
  readonly ports: readonly number[];
  /** Outer paths first, so that mounts inside other mounts come later. */
  readonly storages: readonly StorageMount[];
  readonly limits: ReleaseLimits;
  /**
   * Network that its container joins, created if missing; left out: the engine's default. Only for engines with
   * containers.
   */
  readonly network?: string | undefined;
  /** Number of its containers, if it is an image. Default: 1. */
  readonly replicas?: number | undefined;
  /** Where it may run in a cluster. Only for engines with the capability. */
  readonly placement?: ReleasePlacement | undefined;
  /** Name of its container once it is live. Default: derived from its deployment. */
  readonly containerName?: string | undefined;
  /** Ignored by engines without containers. */
  readonly container?: ContainerOptions | undefined;
  /** Set if the artifact is a stack; `env`, `storages`, `limits` and `container` then have no effect. */
  readonly stack?: StackOptions | undefined;
}

export interface ReleasePlacement {
  /** Valid constraints of Swarm, such as `node.labels.zone==a`. All of them apply. */
  readonly constraints: readonly string[];
  /** Only worker nodes, where the cluster has any. */
  readonly isOnlyOnWorkers: boolean;
}

/** `null`: unlimited. */
export interface ReleaseLimits {
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
}

/** State of a release, as observed by its engine. */
export interface ReleaseState extends ReleaseRef {
  readonly state: ContainerState;
  /** Address for requests; `null` while it does not run or exposes nothing. */
  readonly upstream: Upstream | null;
  readonly restartCount: number;
  /** Exit code of the last run that ended; 128 + signal if it was killed by a signal. */
  readonly exitCode: number | null;
  readonly startedAt: Date | null;
  /** It has been running for ten minutes or more, and its restarts and the time of its start are not known yet. */
  readonly isUncounted?: true;
  /** Result of its own health check, such as the image's HEALTHCHECK; missing without one. */
  readonly health?: Health | "starting";
  /** What its own check printed when it failed last, at most 4 KiB; only while it is unhealthy. */
  readonly healthOutput?: string;
  /** The current and the wanted name of its container, where it has a lasting name once it is live. */
  readonly containerName?: { readonly now: string; readonly wanted: string };
  /** Why it cannot run now, and what to do, as far as the engine knows. */
  readonly problem?: string;
  /**
   * Containers of a stack, in the order of its compose file, or of an image with several replicas. The fields above
   * summarise them.
   */
  readonly containers?: readonly ReleaseContainer[];
}

/** The name of each container of an image with several replicas. */
export const REPLICA = "replica";

/** One container of a stack, or one replica of an image. */
export interface ReleaseContainer {
  /** Its name in the compose file, or `REPLICA`. */
  readonly name: string;
  /** One of several alike of an image, not of a compose file. */
  readonly isReplica?: true;
  /** Counts from 1 if the service has several containers. */
  readonly number?: number;
  readonly state: ContainerState;
  readonly health?: Health | "starting";
  /** As in `ReleaseState`. */
  readonly healthOutput?: string;
  readonly restartCount: number;
  /** Exit code of the last run that ended. */
  readonly exitCode: number | null;
  readonly startedAt: Date | null;
  /** Address on the server that the control plane can reach; `null` while it does not run. */
  readonly address: string | null;
  /** Port for requests; `null` without one. */
  readonly port: number | null;
  /** It runs once, or is excluded from the status. */
  readonly isExcluded: boolean;
  /** It was stopped by somebody, although its restart policy would restart it. */
  readonly isStopped?: boolean;
}

export interface Upstream {
  readonly host: string;
  readonly port: number;
}
