import type { Duplex } from "node:stream";
import type { Argv } from "./argv.ts";
import type { RunOptions, RunResult } from "./local.ts";

/**
 * A machine that holds containers: the one that Berth runs on, or one over a kept SSH connection. Nobody behind this
 * interface asks which. Every call rejects only with a `DomainError`: `server.unreachable` when the machine cannot be
 * reached and `engine.unreachable` when it can, but nothing answers on the socket or address that was asked for (both
 * may be retried), `deploy.cancelled` after an abort, `engine.failed` when the machine refused.
 */
export interface Host {
  /** For people: the server's name. */
  readonly name: string;
  /** Runs a program without a shell, as the login of the server. Its environment is exactly `env`. */
  run(argv: Argv, options: HostRunOptions): Promise<RunResult>;
  /** Opens a Unix socket of the machine, e.g. the engine's. */
  connectSocket(path: string, signal?: AbortSignal): Promise<Duplex>;
  /** Opens a TCP connection from the machine, e.g. to a container's own address. */
  connectTcp(address: { readonly host: string; readonly port: number }, signal?: AbortSignal): Promise<Duplex>;
  /**
   * A Unix socket of Berth's own machine that leads to one of this machine, for programs that speak to an engine
   * (`DOCKER_HOST=unix://…`). The same path for every call about the same socket; gone with `close`.
   */
  socketBridge(path: string): Promise<string>;
  readonly files: HostFiles;
  /** Ends the connection and everything that runs over it. Idempotent. */
  close(): Promise<void>;
}

/** Options for any host: programs on another machine have no local user or process group. */
export type HostRunOptions = Pick<
  RunOptions,
  "env" | "cwd" | "stdin" | "stdout" | "signal" | "timeoutSeconds" | "onLine" | "maxOutputBytes"
>;

/** Files of a machine. Paths are absolute; no link is followed in the last part of one that is written or removed. */
export interface HostFiles {
  /** `undefined`: there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** Replaces the file at once: a reader sees the old content or the new, never a half. */
  write(path: string, content: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>;
  /** With the folders above it. Idempotent. */
  makeFolder(path: string, options?: { readonly mode?: number }): Promise<void>;
  /** Names of what is in a folder, in no order; none for a folder that does not exist. */
  list(path: string): Promise<readonly string[]>;
  /** A file, or a folder with all that is in it. Idempotent. */
  remove(path: string): Promise<void>;
}
