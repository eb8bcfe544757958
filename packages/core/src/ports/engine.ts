import type { ServerObject } from "../compose/external-references.ts";
import type { DatabaseCommand } from "../database/engine/row.ts";
import type { Artifact, BuildRequest } from "../deploy/artifact.ts";
import type { ObjectOwner } from "../deploy/belonging.ts";
import type { ReleaseRef, ReleaseSpec, ReleaseState } from "../deploy/release.ts";
import type { FileMount, StorageMount } from "../deploy/storage-mount.ts";
import type { ResourceKind } from "../resource/resource.ts";
import type { TerminalSize } from "../resource/terminal.ts";
import type { ClusterOperations } from "./cluster.ts";
import type { EngineImages } from "./engine-images.ts";
import type { Forwarder } from "./forward.ts";
import type { WorkIO } from "./work-io.ts";

/** Capabilities of an engine. Shared code checks these, never the engine's name. */
export interface EngineCapabilities {
  /** The kinds of resources that it runs. */
  readonly kinds: readonly ResourceKind[];
  readonly build_packs: readonly string[];
  /** Stopped releases keep what was built for them, to be rolled back to. */
  readonly keepsBuilds: boolean;
  readonly replicas: boolean;
  /** Places releases on the nodes of a cluster, as their constraints say. */
  readonly placement: boolean;
  readonly port_mappings: boolean;
  readonly networks: boolean;
  /** Can mount folders of the server that the release's own user has no rights to. */
  readonly privileged_mounts: boolean;
  readonly memory_limit: boolean;
  readonly cpu_limit: boolean;
}

/** A line of a release's output. `cursor` is opaque and grows: `logs({ after: cursor })` continues after it. */
export interface LogLine {
  readonly cursor: string;
  readonly line: string;
  /** When it was printed, as RFC 3339; left out if the engine does not know. */
  readonly moment?: string;
  /** The container that printed it, in the merged log of several. */
  readonly container?: string;
}

export interface LogQuery {
  /** Number of last lines to begin with, unless `after` is given; may be 0. */
  readonly lines?: number;
  /** The cursor of the last line the caller has. */
  readonly after?: string;
  /** Only lines printed at this moment or later, as RFC 3339 in UTC. @throws DomainError `engine.unsupported` */
  readonly since?: string;
  /** Continues with new lines until `signal` fires or the release is removed. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
  /**
   * The container to read, if the release has several; `ALL_CONTAINERS`: all as one log. Default: the first that takes
   * requests of a stack, and all replicas of any other release.
   */
  readonly container?: string;
}

export interface ExecResult {
  readonly exitCode: number;
  /** Standard output and error in order, cut to `maxOutputBytes`. */
  readonly output: string;
  readonly isTruncated: boolean;
}

/** Input and output of a program. */
export interface CommandIO {
  readonly signal: AbortSignal;
  /** Standard input; empty if left out. */
  readonly input?: AsyncIterable<Uint8Array>;
  /** Reads standard output at its own pace. An error it throws ends the program, and the call rejects with it. */
  readonly output?: (chunks: AsyncIterable<Uint8Array>) => Promise<void>;
}

export interface CommandResult {
  readonly exitCode: number;
  /** The last lines of standard error. */
  readonly errors: readonly string[];
}

/** An interactive program. Its reader must read all of the output, or close it. */
export interface Terminal {
  /** Ends when the program has ended. Rejects with a `DomainError` when the connection to it breaks. */
  readonly output: AsyncIterable<Uint8Array>;
  /** Resolves when more can be written. */
  write(input: Uint8Array): Promise<void>;
  resize(size: TerminalSize): Promise<void>;
  /**
   * The program's exit code, to be asked for after the end of the output. `null`: a signal ended it, or its container
   * is gone.
   */
  exitCode(): Promise<number | null>;
  /** Ends the program and what it has started. Idempotent. */
  close(): Promise<void>;
}

export interface TerminalOptions {
  /** If the release has several. */
  readonly container?: string | undefined;
  /** Default: the container's shell. */
  readonly command?: DatabaseCommand | undefined;
}

/** Result of running a release's own health check once. */
export interface OwnCheck {
  readonly command: string;
  /** `null`: it timed out. */
  readonly exitCode: number | null;
  /** The last line of its output. */
  readonly lastWords: string;
}

/** Resource usage of a release's processes. */
export interface ReleaseUsage {
  readonly processes: number;
  /** Without reclaimable cache, where that is known. */
  readonly memoryBytes: number;
  /** CPU time since the start; the difference of two readings is the use between them. */
  readonly cpuSeconds: number;
  /** Since the release started; missing if the engine does not know. */
  readonly networkBytes?: TransferredBytes;
  readonly diskBytes?: TransferredBytes;
}

export interface TransferredBytes {
  /** Received or read. */
  readonly in: number;
  /** Sent or written. */
  readonly out: number;
}

/** What to keep when a release is removed. Default: nothing. */
export interface ReleaseRemoval {
  readonly graceSeconds?: number;
  /** Stops all containers at the same time, so that together they take at most the grace time. */
  readonly isAtOnce?: boolean;
  /** Keeps images that were built or pulled for it. */
  readonly keepsImages?: boolean;
  /** Keeps networks that only it uses; networks that somebody else has joined are always kept. */
  readonly keepsNetworks?: boolean;
}

/** What to remove of a resource besides releases. Ignored by engines without images or networks. */
export interface ResourceRemoval extends Pick<ReleaseRemoval, "keepsImages" | "keepsNetworks"> {
  readonly deleteVolumes: boolean;
}

/**
 * One server's engine. Each call rejects only with a `DomainError`; `engine.unreachable` may be retried. A release is
 * identified by its deployment, so each call may be repeated after a crash.
 */
export interface Engine {
  readonly kind: "process" | "docker" | "swarm";
  readonly capabilities: EngineCapabilities;
  /** Missing for an engine without containers. */
  readonly containers?: ContainerOperations | undefined;
  /** Missing for an engine of a single machine. */
  readonly cluster?: ClusterOperations | undefined;

  /**
   * Turns a checkout into an artifact that `start` can run. A repeated build of a deployment starts afresh. Aborting
   * ends all of its processes before the promise rejects with `deploy.cancelled`.
   * @throws DomainError `deploy.build_failed` whose message says in one sentence what went wrong.
   */
  build(request: BuildRequest, io: WorkIO): Promise<Artifact>;

  /**
   * Starts a release, without stopping others. Idempotent: a running release is returned unchanged. Resolves when the
   * process or container exists, not when it is healthy.
   * @throws DomainError `deploy.start_failed`
   */
  start(spec: ReleaseSpec, io: WorkIO): Promise<ReleaseState>;

  /**
   * Starts a stopped release as it was started before, ignoring later changes of its resource. Idempotent.
   * `undefined`: it no longer exists on the engine.
   * @throws DomainError `deploy.start_failed`
   */
  resume(ref: ReleaseRef): Promise<ReleaseState | undefined>;

  /**
   * Checks that the release can get its lasting name later. Does nothing on engines whose releases have no names.
   * @throws DomainError `deploy.start_failed` if something else on the server has the name.
   */
  requireName(spec: ReleaseSpec): Promise<void>;

  /**
   * Renames a running release to its lasting name, if it should have one. Another release of the resource with that
   * name gets its own name back. Idempotent.
   * @throws DomainError `deploy.start_failed` as `requireName`.
   */
  takeName(ref: ReleaseRef): Promise<void>;

  /** Idempotent. Resolves when the release has exited, killed after `graceSeconds` if necessary. Keeps its build. */
  stop(ref: ReleaseRef, options: { readonly graceSeconds: number }): Promise<void>;

  /** Idempotent. Stops the release and removes it with its build; storages stay. */
  remove(ref: ReleaseRef, options?: ReleaseRemoval): Promise<void>;

  /** `undefined`: the engine has no such release. */
  inspect(ref: ReleaseRef): Promise<ReleaseState | undefined>;

  /** All releases of this engine, running or not. */
  list(): Promise<readonly ReleaseState[]>;

  /**
   * The releases as last observed, from events: may be a moment older than `list`. `undefined` while events may be
   * missed, and always on engines where `list` is cheap.
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
      /** Gets each line as it is printed. Engines that cannot stream call it for all lines at the end. */
      readonly onLine?: (line: string) => void;
      /** The container that runs it, if the release has several. */
      readonly container?: string;
    },
  ): Promise<ExecResult>;

  /** @throws DomainError `resource.not_found` if the release does not exist. */
  logs(ref: ReleaseRef, query: LogQuery): AsyncIterable<LogLine>;

  /** Ports on which the release's processes listen, ascending, for the message about a failed health check. */
  listeningPorts(ref: ReleaseRef): Promise<readonly ListeningPort[]>;

  /** Volumes that the start of this release created, by the uuids of their storages. Empty if unknown. */
  volumesOf(ref: ReleaseRef): Promise<readonly string[]>;

  /**
   * Removes volumes with their data. No release may use them any more. Idempotent.
   * @param volumes As in the release's storages.
   */
  removeVolumes(resourceUuid: string, volumes: readonly Pick<StorageMount, "uuid" | "name">[]): Promise<void>;

  /** Removes all releases of the resource, and what else `removal` asks for. Idempotent. */
  removeResource(resourceUuid: string, removal: ResourceRemoval): Promise<void>;

  /** Current usage of a release; `undefined` while it does not run. */
  usage(ref: ReleaseRef): Promise<ReleaseUsage | undefined>;

  /**
   * Calls `listener` after every change of a release's state; it must not throw. Returns a function that removes it.
   */
  onStateChange(listener: (state: ReleaseState) => void): () => void;
}

/** Operations on containers, images and published ports. */
export interface ContainerOperations {
  /** Missing for an engine that cannot transfer images. */
  readonly images?: EngineImages | undefined;
  /** Forwards ports of the server to resources. */
  readonly forwards: Forwarder;

  /**
   * Gives a live release this many containers, as they were started before. Idempotent. The removed ones have
   * `graceSeconds` to stop. `undefined`: the release no longer exists.
   * @param replicas From 1.
   * @param options.files Mounted files of new containers, as in the release's storages.
   * @throws DomainError `deploy.start_failed`
   */
  scale(
    ref: ReleaseRef,
    replicas: number,
    options: { readonly graceSeconds: number; readonly files: readonly FileMount[] },
  ): Promise<ReleaseState | undefined>;

  /**
   * Runs a program in a running release, without a shell. Aborting ends the program before the promise rejects with
   * `deploy.cancelled`. Resolves after all output was read.
   * @throws DomainError `resource.not_running`, `engine.unreachable` if the connection broke before the end.
   */
  command(ref: ReleaseRef, command: DatabaseCommand, io: CommandIO): Promise<CommandResult>;

  /**
   * Runs a program in a terminal in the container, as the container's user.
   * @throws DomainError `resource.not_running`, `engine.unsupported` if the container has no shell
   */
  terminal(ref: ReleaseRef, size: TerminalSize, options?: TerminalOptions): Promise<Terminal>;

  /**
   * Runs the release's own health check once, now: the engine may run its first one late. `undefined`: it has no
   * check.
   * @param container Title of the container, if the release has several.
   * @throws DomainError `engine.unreachable`
   */
  ownCheck(ref: ReleaseRef, signal: AbortSignal, container?: string): Promise<OwnCheck | undefined>;

  /**
   * Missing for an engine that can run everything that it can build. Asks nobody; the images need not exist yet.
   * @throws DomainError `deploy.start_failed` with all that it cannot run
   */
  requireFit?(spec: ReleaseSpec): void;

  /**
   * Missing for an engine of a single machine, whose containers wait for no node.
   * @throws DomainError `deploy.start_failed` if containers wait and no node fits, or the one with their data is lost
   */
  requireNodes?(ref: ReleaseRef): Promise<void>;

  /**
   * The owner of each of these objects, in the same order.
   * @throws DomainError `deploy.start_failed` for an invalid name.
   */
  ownersOf(objects: readonly ServerObject[]): Promise<readonly ObjectOwner[]>;
}

/** A TCP port on which a release listens. */
export interface ListeningPort {
  readonly port: number;
  /** The loopback address of its container, if it listens on no other one: requests from outside do not reach it. */
  readonly loopback?: "127.0.0.1" | "::1";
}
