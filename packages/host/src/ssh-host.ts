import type { Duplex } from "node:stream";
import { isDomainError } from "@berth/core";
import type { Client, ClientChannel } from "ssh2";
import type { Argv } from "./argv.ts";
import { channelSocket } from "./channel-socket.ts";
import type { Host, HostRunOptions } from "./host.ts";
import type { RunResult } from "./local.ts";
import { socketBridges } from "./ssh-bridge.ts";
import { cancelled, type SshConnection, type SshOptions, sshConnection } from "./ssh-connection.ts";
import { addressRefused, type SocketState, socketRefused } from "./ssh-failure.ts";
import { sshFiles } from "./ssh-files.ts";
import { runOver } from "./ssh-run.ts";
import { sshTerminals } from "./ssh-terminal.ts";
import { turns } from "./turns.ts";

export interface SshHostOptions extends SshOptions {
  /** Local folder for the bridge sockets. Its path must be short, since a socket's path is limited to 107 bytes. */
  readonly bridgeFolder: string;
}

export interface SshHost extends Host {
  /**
   * Clears the delay after a failed connect, so that the next call tries at once: for a server that was just repaired.
   */
  retryNow(): void;
}

/**
 * Another machine over one SSH connection, opened when first needed and again after it was lost. Sockets and TCP use
 * channels, which sshd does not limit; programs share `SESSIONS_MAX` sessions.
 */
export function sshHost(options: SshHostOptions): SshHost {
  const connection = sshConnection(options);
  const sessions = turns(SESSIONS_MAX);
  const run = (argv: Argv, runOptions: HostRunOptions): Promise<RunResult> =>
    runOver(connection, sessions, argv, runOptions);
  const connectSocket = (path: string, signal?: AbortSignal) =>
    asDomainError(signal, () => socketChannel(connection, path, () => stateOf(path, run), signal));
  const bridges = socketBridges(options.bridgeFolder, connectSocket);
  return {
    name: options.name,
    run,
    connectSocket,
    connectTcp: ({ host, port }, signal) => asDomainError(signal, () => tcpChannel(connection, host, port, signal)),
    socketBridge: (path) => bridges.to(path),
    terminal: sshTerminals(connection, sessions, TERMINALS_MAX),
    files: sshFiles(connection, (argv) => run(argv, { env: { PATH, LC_ALL: "C" }, timeoutSeconds: FILE_SECONDS_MAX })),
    retryNow: () => connection.retryNow(),
    async close() {
      await bridges.close();
      await connection.close();
    },
  };
}

async function socketChannel(
  connection: SshConnection,
  path: string,
  look: () => Promise<SocketState>,
  signal: AbortSignal | undefined,
): Promise<Duplex> {
  return await connection.open<Duplex>(
    (client, done) => client.openssh_forwardOutStreamLocal(path, asSocket(client, done)),
    async (cause) => socketRefused(connection.target, path, await look(), cause),
    signal,
  );
}

async function tcpChannel(
  connection: SshConnection,
  host: string,
  port: number,
  signal: AbortSignal | undefined,
): Promise<Duplex> {
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return await connection.open<Duplex>(
    (client, done) => client.forwardOut("127.0.0.1", 0, host, port, asSocket(client, done)),
    (cause) => addressRefused(connection.target.name, address, cause),
    signal,
  );
}

const asSocket =
  (client: Client, done: (error: Error | undefined, socket: Duplex) => void) =>
  (error: Error | undefined, channel: ClientChannel) =>
    error === undefined ? done(undefined, channelSocket(client, channel)) : done(error, channel);

/** The reason why a socket cannot be opened, found on the machine itself. */
async function stateOf(path: string, run: Host["run"]): Promise<SocketState> {
  const test = async (flag: string) => {
    const { exitCode } = await run(["test", flag, path], { env: { PATH }, timeoutSeconds: 5 });
    return exitCode === 0;
  };
  if (!(await test("-S"))) return "missing";
  return (await test("-w")) ? "open" : "closed";
}

/** An abort gives the same error, wherever it happens. */
async function asDomainError<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal?.aborted && !isDomainError(error)) throw cancelled();
    throw error;
  }
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const SESSIONS_MAX = 8; // OpenSSH allows 10 on a connection: one is for files, and one for ending programs.
const TERMINALS_MAX = 4;
const FILE_SECONDS_MAX = 120;
