import type { ServerFacts } from "./records.ts";

/** Findings of an inspection of a Docker server, as far as it got. */
export interface ServerInspection {
  /** A sentence for people when no program can be run there, with what to do. */
  readonly machineProblem: string | null;
  /** A sentence for people when its engine does not answer, with what to do. */
  readonly engineProblem: string | null;
  readonly facts: ServerFacts | null;
  /** `linux`, or what Berth cannot run on; `null` when the engine does not answer. */
  readonly osType: string | null;
  /** Usage of the disk that holds the engine's data; `null` when it cannot be read. */
  readonly disk: DiskSpace | null;
}

/** The machine below a server's engine. Calls reject only with a `DomainError`. */
export interface ServerMachine {
  /** Tries at once, whatever failed before. Never rejects for what the machine is like. */
  inspect(): Promise<ServerInspection>;
  /** Whether machine and engine answer now, as cheaply as can be, whatever failed before. @throws DomainError that says why not */
  ping(signal: AbortSignal): Promise<void>;
  /** `undefined` when it cannot be read. */
  disk(): Promise<DiskSpace | undefined>;
  /**
   * Installs Docker from the packages of Debian or Ubuntu, and starts it. Idempotent.
   *
   * @param onLine Told what is run and what that prints.
   * @throws DomainError `engine.unsupported` for another system, `engine.failed` when a step failed
   */
  installEngine(onLine: (line: string) => void, signal?: AbortSignal): Promise<void>;
}

export interface DiskSpace {
  /** A folder on it, where it is known. */
  readonly folder?: string;
  readonly totalBytes: number;
  readonly freeBytes: number;
}
