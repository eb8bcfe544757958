import { closeSync, fchownSync, fstatSync, ftruncateSync, openSync } from "node:fs";
import { readFile, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DomainError } from "@berth/core";
import pg from "pg";
import type { Binaries } from "./binaries.ts";
import { type ClusterFolder, type ClusterSettings, ensureCluster, ROLE, writeConfig } from "./cluster.ts";
import type { DatabaseOwner } from "./owner.ts";
import { startDaemon } from "./process.ts";
import { makeSocketFolder } from "./socket-folder.ts";

/** A running server on the folder, started by this process or by an earlier one. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly socketFolder: string;
}

export interface PostmasterSetup {
  readonly folder: ClusterFolder;
  readonly owner: DatabaseOwner;
  readonly binaries: Binaries;
  readonly settings: ClusterSettings;
}

const POLL_MS = 10;
// The lock of a killed server stays until the kernel has ended all its processes.
const STALE_LOCK_SECONDS = 10;
// Recovery after a crash replays at most `max_wal_size`, which takes some seconds on a slow disk.
const START_SECONDS = 120;
const STOP_SECONDS = 30;
const LOG_BYTES_MAX = 10_000_000;

/**
 * Starts the server, or takes over a running one on the folder.
 *
 * @param socketFolder Where it listened before; a restart uses it again, so that existing connection settings stay
 * valid.
 */
export async function startPostmaster(setup: PostmasterSetup, socketFolder?: string): Promise<Postmaster> {
  const running = await adopt(setup);
  if (running !== undefined) return running;
  const { folder, owner, binaries, settings } = setup;
  await ensureCluster(folder, owner, binaries);
  const socket = socketFolder ?? (await makeSocketFolder(folder.root, owner, settings.port));
  const deadline = Date.now() + STALE_LOCK_SECONDS * 1000;
  for (;;) {
    const launched = await launch(setup, socket);
    if (!("ended" in launched)) return launched;
    if (!launched.isLocked || Date.now() > deadline) throw launched.ended;
    await sleep(POLL_MS * 10);
    const other = await adopt(setup);
    if (other !== undefined) return other;
  }
}

/** Content of `postmaster.pid`, which PostgreSQL's `pidfile.h` documents. */
interface PidFile extends Postmaster {
  readonly isReady: boolean;
}

export async function readPidFile(folder: ClusterFolder): Promise<PidFile | undefined> {
  const text = await readFile(join(folder.data, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  return { pid, port: Number(lines[3]), socketFolder: lines[4] ?? "", isReady: (lines[7] ?? "").trim() === "ready" };
}

/**
 * Takes over the server of a killed Berth. Waits for one that is starting or stopping; stops one of another version
 * or port, or one that refuses the connection.
 */
async function adopt(setup: PostmasterSetup): Promise<Postmaster | undefined> {
  const startedAt = Date.now();
  for (;;) {
    const found = await readPidFile(setup.folder);
    if (found === undefined || !(await isServerOf(setup.folder, found.pid))) return undefined;
    const version = found.isReady ? await serverVersion(found) : undefined;
    if (version === setup.binaries.version && found.port === setup.settings.port) return found;
    const waitedSeconds = (Date.now() - startedAt) / 1000;
    if (version !== undefined || (found.isReady && waitedSeconds > STALE_LOCK_SECONDS)) await stopPostmaster(found);
    if (waitedSeconds > START_SECONDS) throw (await notStarted(setup.folder, 0)).ended;
    await sleep(POLL_MS * 5);
  }
}

/** Process ids are reused, so only a process that works in the data folder is its server. */
async function isServerOf(folder: ClusterFolder, pid: number): Promise<boolean> {
  const [workingFolder, data] = await Promise.all([
    readlink(`/proc/${pid}/cwd`).catch(() => undefined), // it has ended, or belongs to another user
    realpath(folder.data).catch(() => undefined),
  ]);
  return workingFolder !== undefined && workingFolder === data;
}

async function serverVersion(server: Postmaster): Promise<string | undefined> {
  const client = new pg.Client({ ...connectionTo(server), connectionTimeoutMillis: 5_000 });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>("show server_version");
    return rows[0]?.server_version;
  } catch {
    // It does not listen, not yet, or refuses the connection: the caller decides what to do.
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

export const connectionTo = ({ socketFolder, port }: Postmaster) => ({
  host: socketFolder,
  port,
  user: ROLE,
  database: ROLE,
});

interface Ended {
  readonly ended: DomainError;
  /** Processes of a killed earlier server still exist. */
  readonly isLocked: boolean;
}

async function launch(setup: PostmasterSetup, socketFolder: string): Promise<Postmaster | Ended> {
  const { folder, owner, binaries, settings } = setup;
  const { configFile } = await writeConfig(folder, owner, socketFolder, settings);
  const log = openLog(folder, owner);
  try {
    const daemon = startDaemon(binaries.postgres, ["-D", folder.data, "-c", `config_file=${configFile}`], {
      ids: owner.ids,
      folder: folder.root,
      logFile: log.file,
    });
    return (await waitUntilReady(folder, daemon)) ?? (await notStarted(folder, log.length));
  } finally {
    closeSync(log.file);
  }
}

function openLog(folder: ClusterFolder, owner: DatabaseOwner): { readonly file: number; readonly length: number } {
  const file = openSync(folder.logFile, "a", 0o600);
  if (owner.ids !== undefined) fchownSync(file, owner.ids.uid, owner.ids.gid);
  if (fstatSync(file).size > LOG_BYTES_MAX) ftruncateSync(file);
  return { file, length: fstatSync(file).size };
}

/** `undefined`: it ended, e.g. since another server has the lock. */
async function waitUntilReady(
  folder: ClusterFolder,
  daemon: ReturnType<typeof startDaemon>,
): Promise<Postmaster | undefined> {
  let hasEnded = daemon.pid === undefined;
  void daemon.ended.then(() => {
    hasEnded = true;
  });
  const deadline = Date.now() + START_SECONDS * 1000;
  while (!hasEnded && Date.now() < deadline) {
    const found = await readPidFile(folder);
    if (found !== undefined && found.pid === daemon.pid && found.isReady) return found;
    await sleep(POLL_MS);
  }
  return undefined;
}

async function notStarted(folder: ClusterFolder, logFrom: number): Promise<Ended> {
  const log = await readFile(folder.logFile).catch(() => Buffer.alloc(0));
  const lines = log.subarray(logFrom).toString("utf8").trim().split("\n");
  // Remaining processes of a killed server write to the same log.
  const locked = lines.find((line) => /lock file .* already exists|shared memory block .* still in use/.test(line));
  const reason = locked ?? lines.findLast((line) => /FATAL|PANIC|ERROR/.test(line)) ?? lines.at(-1) ?? "";
  const sentence = reason.replace(/^.*?(FATAL|PANIC|ERROR): */, "");
  return {
    isLocked: locked !== undefined,
    ended: new DomainError("setup.failed", `The embedded database does not start: ${sentence} (see ${folder.logFile})`),
  };
}

/** Fast shutdown: open transactions are rolled back, committed data is on the disk. Idempotent. */
export async function stopPostmaster({ pid }: { readonly pid: number }): Promise<void> {
  const deadline = Date.now() + STOP_SECONDS * 1000;
  signal(pid, "SIGINT");
  while ((await isRunning(pid)) && Date.now() < deadline) await sleep(POLL_MS);
  // Immediate shutdown: the next start recovers from the log, committed data is kept.
  if (await isRunning(pid)) signal(pid, "SIGQUIT");
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has already exited.
  }
}

/** A zombie, which has ended but was not waited for, does not count as running. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // The state follows the name, which may contain any character, so the last parenthesis ends it.
  return stat !== undefined && !/^.*\) [ZX]/s.test(stat);
}
