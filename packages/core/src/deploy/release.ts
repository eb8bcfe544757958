import type { ResourceKind } from "../resource/resource.ts";
import type { Artifact } from "./artifact.ts";
import type { ContainerOptions } from "./container.ts";
import type { StackOptions } from "./stack.ts";
import type { Health } from "./status.ts";

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

/** A storage mounted into a release. Paths are absolute and normalised. */
export type StorageMount = VolumeMount | FolderMount | FileMount;

interface Mount {
  readonly uuid: string;
  /** For people. What an engine keeps is named by `uuid`: another team's storage may have the same name. */
  readonly name: string;
  readonly mountPath: string;
  /** The release only reads it. */
  readonly isReadOnly?: boolean;
}

/** A folder of its own that outlives the release, and the resource unless its storages are deleted with it. */
export interface VolumeMount extends Mount {
  readonly type: "volume";
  /** It has held data before: a start without it is refused, since an empty one would look like a loss. */
  readonly isRecorded?: boolean;
  /** The storage that it is recorded with, where several share one volume and `uuid` names that. */
  readonly storageUuid?: string;
}

/** A folder of the server. */
export interface FolderMount extends Mount {
  readonly type: "folder";
  readonly hostPath: string;
}

/** A file with this content whenever the release starts. */
export interface FileMount extends Mount {
  readonly type: "file";
  /** May be a secret: kept only in files that nobody but the release's user reads. */
  readonly content: string;
  /**
   * Accounts of an image that begins as root, of which the first that it has is the only one to read the file. Missing:
   * every process of the release reads it.
   */
  readonly readers?: readonly string[];
}

/** `null`: unlimited. */
export interface ReleaseLimits {
  readonly memoryBytes: number | null;
  readonly cpus: number | null;
}

/** The states of RULES 6. */
export type ContainerState =
  | "created"
  | "starting"
  | "running"
  | "restarting"
  | "exited"
  | "paused"
  | "dead"
  | "removing";

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
