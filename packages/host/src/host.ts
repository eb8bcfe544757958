import type { Duplex } from "node:stream";
import type { Terminal } from "@berth/core/ports";
import type { TerminalSize } from "@berth/core/resource";
import type { Argv } from "./argv.ts";
import type { RunOptions, RunResult } from "./local.ts";

/**
 * A machine that runs containers: Berth's own, or one over a lasting SSH connection. Callers need not know which.
 * Calls reject only with a `DomainError`: `server.unreachable` when the machine cannot be reached and
 * `engine.unreachable` when nothing answers on the requested socket or address (both may be retried),
 * `deploy.cancelled` after an abort, `engine.failed` when the machine refused.
 */
export interface Host {
  /** Name of the server, for messages. */
  readonly name: string;
  /** Runs a program without a shell, as the server's login user. Its environment is exactly `env`. */
  run(argv: Argv, options: HostRunOptions): Promise<RunResult>;
  /** Opens a Unix socket of the machine, e.g. the engine's. */
  connectSocket(path: string, signal?: AbortSignal): Promise<Duplex>;
  /** Opens a TCP connection from the machine, e.g. to a container's own address. */
  connectTcp(address: { readonly host: string; readonly port: number }, signal?: AbortSignal): Promise<Duplex>;
  /**
   * A Unix socket on Berth's machine that forwards to a socket of this machine, for clients of an engine
   * (`DOCKER_HOST=unix://…`). Calls for one socket return the same path; `close` removes it.
   */
  socketBridge(path: string): Promise<string>;
  /** Opens the login user's shell in a terminal. @throws DomainError `engine.unsupported` on Berth's own machine */
  terminal(size: TerminalSize): Promise<Terminal>;
  readonly files: HostFiles;
  /** Closes the connection and everything that runs over it. Idempotent. */
  close(): Promise<void>;
}

/** Options that any host supports: programs on another machine have no local user or process group. */
export type HostRunOptions = Pick<
  RunOptions,
  "env" | "cwd" | "stdin" | "stdout" | "signal" | "timeoutSeconds" | "onLine" | "maxOutputBytes"
>;

/** Files of a machine. Paths are absolute. When writing or removing, a link in the last part is not followed. */
export interface HostFiles {
  /** `undefined`: the file does not exist. */
  read(path: string): Promise<Buffer | undefined>;
  /** Replaces the file atomically: readers see the old or the new content, never a mixture. */
  write(path: string, content: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>;
  /** Creates the folder and its parents. Idempotent. */
  makeFolder(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Names in a folder, unsorted; empty for a folder that does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** Removes a file, or a folder with its content. Idempotent. */
  remove(path: string): Promise<void>;
}
