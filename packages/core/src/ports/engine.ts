import type { ServerObject } from "../compose/external-references.ts";
import type { DatabaseCommand } from "../database/engine/row.ts";
import type { Artifact, BuildRequest } from "../deploy/artifact.ts";
import type { ObjectOwner } from "../deploy/belonging.ts";
import type { ReleaseRef, ReleaseSpec, ReleaseState } from "../deploy/release.ts";
import type { StorageMount } from "../deploy/storage-mount.ts";
import type { ResourceKind } from "../resource/resource.ts";
import type { EngineImages } from "./engine-images.ts";
import type { Forwarder } from "./forward.ts";
import type { WorkIO } from "./work-io.ts";

/** Capabilities of an engine. Shared code checks these, never the engine's name. */
export interface EngineCapabilities {
  /** Which kinds of resource it runs. */
  readonly kinds: readonly ResourceKind[];
  readonly build_packs: readonly string[];
  /** Stopped releases keep what was built for them, to be rolled back to. */
  readonly keepsBuilds: boolean;
  readonly replicas: boolean;
  readonly port_mappings: boolean;
  readonly networks: boolean;
  /** Mounts folders of the server with rights that the release's own user has not. */
  readonly privileged_mounts: boolean;
  readonly memory_limit: boolean;
  readonly cpu_limit: boolean;
}

/** A line of a release's own output. `cursor` is opaque and grows: `logs({ after: cursor })` continues after it. */
export interface LogLine {
  readonly cursor: string;
  readonly line: string;
  /** When it was printed, as RFC 3339; left out where the engine does not know. */
  readonly moment?: string;
}

export interface LogQuery {
  /** The last N lines to begin with, when `after` is not given. 0 for none. */
  readonly lines?: number;
  /** The cursor of the last line the caller has. */
  readonly after?: string;
  /** Only lines that were printed at this moment or later, as RFC 3339 in UTC. @throws DomainError `engine.unsupported` */
  readonly since?: string;
  /** Goes on with what comes, until `signal` fires or the release is removed. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
  /** Where a release has several containers: the name of the one whose log it is. Default: the first that takes requests. */
  readonly container?: string;
}

export interface ExecResult {
  readonly exitCode: number;
  /** Standard output and error in the order they came, cut to `maxOutputBytes`. */
  readonly output: string;
  readonly isTruncated: boolean;
}

/** Input and output of a program. */
export interface CommandIO {
  readonly signal: AbortSignal;
  /** Its standard input; none when left out. */
  readonly input?: AsyncIterable<Uint8Array>;
  /** Reads its standard output, as fast as it can take it. What it throws ends the program, and is thrown on. */
  readonly output?: (chunks: AsyncIterable<Uint8Array>) => Promise<void>;
}

export interface CommandResult {
  readonly exitCode: number;
  /** The last lines of its standard error. */
  readonly errors: readonly string[];
}

/** One run of a release's own health check. */
export interface OwnCheck {
  readonly command: string;
  /** `null`: it did not end in time. */
  readonly exitCode: number | null;
  /** The last line that it wrote. */
  readonly lastWords: string;
}

/** Resource usage of a release's processes. */
export interface ReleaseUsage {
  readonly processes: number;
  /** Reclaimable cache is not counted where it is known. */
  readonly memoryBytes: number;
  /** Since they started: the difference of two readings is the use between them. */
  readonly cpuSeconds: number;
  /** Since the release started; missing where the engine does not know. */
  readonly networkBytes?: TransferredBytes;
  readonly diskBytes?: TransferredBytes;
}

export interface TransferredBytes {
  /** Received, or read. */
  readonly in: number;
  /** Sent, or written. */
  readonly out: number;
}

/** Parts to keep when a release is removed. Default: nothing is kept. */
export interface ReleaseRemoval {
  readonly graceSeconds?: number;
  /** Its containers stop together, in no order: each takes no longer than the grace time. */
  readonly isAtOnce?: boolean;
  /** Keeps the images that were built or pulled for it. */
  readonly keepsImages?: boolean;
  /** The networks that it alone has stay; what somebody else has joined stays in any case. */
  readonly keepsNetworks?: boolean;
}

/** Options for removing a resource's other objects. An engine without images or networks ignores those. */
export interface ResourceRemoval extends Pick<ReleaseRemoval, "keepsImages" | "keepsNetworks"> {
  readonly deleteVolumes: boolean;
}

/**
 * One server's engine. Every call rejects only with a `DomainError`; `engine.unreachable` may be retried.
 * A release is named by the deployment that made it, so every call may be repeated after a crash.
 */
export interface Engine {
  readonly kind: "process" | "docker" | "swarm";
  readonly capabilities: EngineCapabilities;
  /** Left out by an engine without containers. */
  readonly containers?: ContainerOperations | undefined;

  /**
   * Turns a checkout into what `start` can run. Repeating it for the same deployment starts afresh.
   * Aborting ends the work and everything it spawned before the promise rejects with `deploy.cancelled`.
   * @throws DomainError `deploy.build_failed` whose message says in one sentence what went wrong.
   */
  build(request: BuildRequest, io: WorkIO): Promise<Artifact>;

  /**
   * Starts a release beside whatever runs. Idempotent: when the release already runs, answers its state.
   * Resolves when the process or container exists, not when it is healthy.
   * @throws DomainError `deploy.start_failed`
   */
  start(spec: ReleaseSpec, io: WorkIO): Promise<ReleaseState>;

  /**
   * Starts a release that has stopped as it was started before, whatever is recorded of its resource by now. Idempotent.
   * `undefined`: nothing of it is there that could be started so.
   * @throws DomainError `deploy.start_failed`
   */
  resume(ref: ReleaseRef): Promise<ReleaseState | undefined>;

  /**
   * Makes sure that the release can have its lasting name when it needs it. Does nothing where releases have no names.
   * @throws DomainError `deploy.start_failed` when something else on the server has it.
   */
  requireName(spec: ReleaseSpec): Promise<void>;

  /**
   * Gives a release its lasting name, while it runs; nothing happens to one that has it, or is to have none. What has
   * it of the same resource gets its own name back. Idempotent.
   * @throws DomainError `deploy.start_failed` as above.
   */
  takeName(ref: ReleaseRef): Promise<void>;

  /** Idempotent. Resolves when the release has exited: asked to first, killed after `graceSeconds`. Keeps what was built. */
  stop(ref: ReleaseRef, options: { readonly graceSeconds: number }): Promise<void>;

  /** Idempotent. Stops the release and removes it with what was built for it; storages stay. */
  remove(ref: ReleaseRef, options?: ReleaseRemoval): Promise<void>;

  /** `undefined`: the engine knows no such release. */
  inspect(ref: ReleaseRef): Promise<ReleaseState | undefined>;

  /** Every release this engine holds, running or not. */
  list(): Promise<readonly ReleaseState[]>;

  /**
   * What was seen last, without asking anything: perhaps a moment older than `list`. `undefined` while changes may be
   * missed, and always where `list` costs nothing.
   */
  lastSeen(): readonly ReleaseState[] | undefined;

  /** Runs a user's script in the release's own environment, as its user. The script is one argument of its shell. */
  exec(
    ref: ReleaseRef,
    script: string,
    options: {
      readonly timeoutSeconds: number;
      readonly signal?: AbortSignal;
      readonly maxOutputBytes?: number;
      /** Told each line as it comes. An engine that cannot tell them answers all of them in the end. */
      readonly onLine?: (line: string) => void;
      /** Where a release has several containers: the name of the one that runs it. */
      readonly container?: string;
    },
  ): Promise<ExecResult>;

  /** @throws DomainError `resource.not_found` when there is no such release. */
  logs(ref: ReleaseRef, query: LogQuery): AsyncIterable<LogLine>;

  /** Ports on which the release's processes listen, for the sentence that explains a failed health check. */
  listeningPorts(ref: ReleaseRef): Promise<readonly number[]>;

  /** Volumes that a start of this release has made, by their uuids as they were mounted. None where that is unknown. */
  volumesOf(ref: ReleaseRef): Promise<readonly string[]>;

  /**
   * Removes these volumes with what is in them. No release may use them any more. Idempotent.
   * @param volumes As they were mounted.
   */
  removeVolumes(resourceUuid: string, volumes: readonly Pick<StorageMount, "uuid" | "name">[]): Promise<void>;

  /** Removes what belongs to the resource as a whole: its releases, and of the rest what is asked for. Idempotent. */
  removeResource(resourceUuid: string, removal: ResourceRemoval): Promise<void>;

  /** Current usage of a release; `undefined` while it does not run. */
  usage(ref: ReleaseRef): Promise<ReleaseUsage | undefined>;

  /** Told of every change of a release's state; never throws into the engine. Returns the way to stop listening. */
  onStateChange(listener: (state: ReleaseState) => void): () => void;
}

/** Operations on containers, images and published ports. */
export interface ContainerOperations {
  /** Left out by an engine that moves no images. */
  readonly images?: EngineImages | undefined;
  /** Forwards ports of the server to resources. */
  readonly forwards: Forwarder;

  /**
   * Runs a program in a running release, without a shell that reads its arguments. Aborting ends the program before the
   * promise rejects with `deploy.cancelled`. Resolves only when all that it wrote was read.
   * @throws DomainError `resource.not_running`, `engine.unreachable` when the connection broke before its end.
   */
  command(ref: ReleaseRef, command: DatabaseCommand, io: CommandIO): Promise<CommandResult>;

  /**
   * Runs the own health check of a release once, now: its engine may begin late with it. `undefined`: it has none.
   * @throws DomainError `engine.unreachable`
   */
  ownCheck(ref: ReleaseRef, signal: AbortSignal): Promise<OwnCheck | undefined>;

  /**
   * Owners of these objects, in their order.
   * @throws DomainError `deploy.start_failed` for a name that no such object can have.
   */
  ownersOf(objects: readonly ServerObject[]): Promise<readonly ObjectOwner[]>;
}
