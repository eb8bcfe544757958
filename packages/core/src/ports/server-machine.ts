import type { TerminalSize } from "../resource/terminal.ts";
import type { Terminal } from "./engine.ts";
import type { ServerFacts } from "./records.ts";

/** Result of inspecting a Docker server, as far as it got. */
export interface ServerInspection {
  /** Why no program can be run there and what to do, as a sentence for people. */
  readonly machineProblem: string | null;
  /** Why its engine does not answer and what to do, as a sentence for people. */
  readonly engineProblem: string | null;
  readonly facts: ServerFacts | null;
  /** Identity of its engine, unique among all engines; `null` if unknown. */
  readonly engineId: string | null;
  /** Its node of a Docker Swarm; `null` outside of one, and if unknown. */
  readonly swarm: SwarmNode | null;
  /** `linux`, or a system that Berth does not support; `null` if the engine does not answer. */
  readonly osType: string | null;
  /** Usage of the disk with the engine's data; `null` if unknown. */
  readonly disk: DiskSpace | null;
}

/** An active node of a Docker Swarm, as its engine reports it. */
export interface SwarmNode {
  readonly nodeId: string;
  readonly isManager: boolean;
  /** Only managers know it, while they have a leader. */
  readonly clusterId: string | null;
  /** Managers that the node is connected to. A manager may list itself. */
  readonly managers: readonly { readonly nodeId: string; readonly address: string }[];
  /** Number of managers in the cluster; 0 if unknown. */
  readonly managerCount: number;
}

/** The machine that a server's engine runs on. Calls reject only with a `DomainError`. */
export interface ServerMachine {
  /**
   * Connects at once, whatever failed before. Reports problems of the machine instead of rejecting.
   * @param onProgress Called once the machine has answered, and once its engine has.
   */
  inspect(onProgress?: (soFar: Pick<ServerInspection, "facts" | "osType">) => void): Promise<ServerInspection>;
  /**
   * Checks cheaply whether machine and engine answer, whatever failed before, and the managers of the cluster that
   * Berth manages through it.
   * @returns Why the machine does not answer, while another manager of its cluster replaces it; else `null`.
   * @throws DomainError that says why not
   */
  ping(signal: AbortSignal): Promise<string | null>;
  /** `undefined` if unknown. */
  disk(): Promise<DiskSpace | undefined>;
  /**
   * Installs Docker from the packages of Debian or Ubuntu, and starts it. Idempotent.
   *
   * @throws DomainError `engine.unsupported` for other systems, `engine.failed` if a step failed
   */
  installEngine(progress: InstallationProgress, signal?: AbortSignal): Promise<void>;
  /** Opens the login user's shell in a terminal. @throws DomainError `engine.unsupported` for Berth's own machine */
  terminal(size: TerminalSize): Promise<Terminal>;
}

export interface InstallationProgress {
  /** Called when a step begins: the one before has ended well. */
  onStep(step: { readonly name: string; readonly command: string }): void;
  /** Gets the commands and their output. */
  onLine(line: string): void;
}

export interface DiskSpace {
  /** A folder on this disk, if known. */
  readonly folder?: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}
