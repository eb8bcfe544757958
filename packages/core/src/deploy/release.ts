import type { ResourceKind } from "../resource/resource.ts";
import type { Artifact } from "./artifact.ts";
import type { ContainerOptions } from "./container.ts";
import type { ContainerState, Health } from "./container-state.ts";
import type { StackOptions } from "./stack.ts";
import type { StorageMount } from "./storage-mount.ts";

/** Names a release for ever: the deployment that made it. */
export interface ReleaseRef {
  readonly resourceUuid: string;
  readonly deploymentUuid: string;
}

/** Everything an engine must know to run a release. Holds secrets in `env`: kept only in files of mode 0600. */
export interface ReleaseSpec extends ReleaseRef {
  /** Positive number of the resource, unique on the instance; an engine may derive a user id from it. */
  readonly resourceNumber: number;
  readonly kind: ResourceKind;
  readonly name: string;
  readonly artifact: Artifact;
  readonly env: Readonly<Record<string, string>>;
  /** The ports the application says it listens on. The first is the one that gets traffic. */
  readonly ports: readonly number[];
  /** Outer paths first: what is mounted inside of another mount comes after it. */
  readonly storages: readonly StorageMount[];
  readonly limits: ReleaseLimits;
  /** That its container joins, made when it is missing; left out: the engine's own. Only engines with containers read it. */
  readonly network?: string | undefined;
  /** Name of its container once it is the live release. Default: named by its deployment. */
  readonly containerName?: string | undefined;
  /** For an engine with containers; others do not read it. */
  readonly container?: ContainerOptions | undefined;
  /** Where the artifact is a stack; `env`, `storages`, `limits` and `container` are then of no release of one container. */
  readonly stack?: StackOptions | undefined;
}

/** `null`: unlimited. */
export interface ReleaseLimits {
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
}

/** State of a release, as its engine observes it. */
export interface ReleaseState extends ReleaseRef {
  readonly state: ContainerState;
  /** Where it takes requests; `null` while it does not run or exposes nothing. */
  readonly upstream: Upstream | null;
  readonly restartCount: number;
  /** Exit code of the last run that ended; 128 + signal when a signal ended it. */
  readonly exitCode: number | null;
  readonly startedAt: Date | null;
  /** Result of its own health check, such as an image's HEALTHCHECK; missing without one. */
  readonly health?: Health | "starting";
  /** Where its container is to have a lasting name once it is the live release: that one, and the one it has. */
  readonly containerName?: { readonly now: string; readonly wanted: string };
  /** Containers of a stack, in the order of its compose file. The fields above summarise them. */
  readonly containers?: readonly ReleaseContainer[];
}

/** One container of a stack. */
export interface ReleaseContainer {
  /** As the compose text calls it. */
  readonly name: string;
  /** From 1 on, where there are several of that name. */
  readonly number?: number;
  readonly state: ContainerState;
  readonly health?: Health | "starting";
  readonly restartCount: number;
  /** Exit code of the last run that ended. */
  readonly exitCode: number | null;
  readonly startedAt: Date | null;
  /** Where the control plane reaches it on the server; `null` while it does not run. */
  readonly address: string | null;
  /** The one that takes requests; `null` where nothing does. */
  readonly port: number | null;
  /** It runs once and ends, or is left out of the status. */
  readonly isExcluded: boolean;
  /** It does not run although it shall whenever it ends: somebody stopped it. */
  readonly isStopped?: boolean;
}

export interface Upstream {
  readonly host: string;
  readonly port: number;
}
