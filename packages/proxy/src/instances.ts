import { createHash } from "node:crypto";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { readdir, readFile, rm, stat, truncate } from "node:fs/promises";
import { request } from "node:http";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DomainError } from "@berth/core";
import type { Argv } from "@berth/host";
import {
  endGroup,
  identify,
  isLiving,
  type ProcessIdentity,
  readJson,
  run,
  spawnDetached,
  writeJson,
} from "@berth/host";
import {
  type ControlRequests,
  type ProxyConfig,
  type ProxyStatus,
  socketName,
  WARM_ARGUMENT,
  WATCH_PATH,
} from "./protocol.ts";

/** A running proxy process, with the status of its last answer. */
export type Instance = ProxyStatus;

/** Proxy processes of one folder: the one that serves and, for a while, those that it replaced. */
export interface Instances {
  /** All processes that answer. One that does not answer is killed, since it cannot be controlled. */
  find(): Promise<Instance[]>;
  /**
   * Resolves when the process answers; its status says whether it listens.
   * @throws DomainError `setup.failed`
   */
  start(config: ProxyConfig): Promise<Instance>;
  /** Rejects with the socket's error when the process has exited, or does not answer within 5 seconds. */
  ask<Name extends keyof ControlRequests>(pid: number, name: Name, input: ControlRequests[Name]): Promise<Instance>;
  /** Whether it answers in time. Never rejects. */
  answers(pid: number, withinSeconds: number): Promise<boolean>;
  isLiving(pid: number): Promise<boolean>;
  /** Calls `onEnd` once, when the process exits. Returns a function that stops watching. */
  watch(pid: number, onEnd: () => void): () => void;
  /** Ends a process and resolves when it has exited. Idempotent. */
  end(pid: number, graceSeconds: number): Promise<void>;
  /** Closes the connections; the processes continue. Idempotent. */
  close(): void;
}

/** How the proxy process is started, without its configuration. */
export interface ProxyProgram {
  readonly command: Argv;
  /** Changes when the code or the Node version changes. */
  readonly version: string;
}

export function proxyProgram(nodePath: string): ProxyProgram {
  const isSource = import.meta.url.endsWith(".ts");
  const main = fileURLToPath(new URL(isSource ? "embedded-main.ts" : "embedded-main.js", import.meta.url));
  const command: Argv = [nodePath, ...NODE_FLAGS, main];
  const hash = createHash("sha256").update(JSON.stringify([nodePath, NODE_FLAGS, process.version]));
  for (const file of isSource ? sourcesBeside(main) : [main]) hash.update(basename(file)).update(readFileSync(file));
  return { command, version: hash.digest("hex").slice(0, 16) };
}

/** In the repository all sources of the folder belong to it; a build is one file. */
const sourcesBeside = (main: string): readonly string[] =>
  readdirSync(dirname(main))
    .filter((name) => /(?<!\.(?:test|fixture))\.ts$/.test(name))
    .toSorted()
    .map((name) => join(dirname(main), name));

/**
 * A young generation of 4 MiB needs no more idle memory than one of 1 MiB, and a fifth less CPU under load. The heap
 * limit covers the connections that `listener.ts` allows.
 */
const NODE_FLAGS = ["--max-semi-space-size=4", "--max-old-space-size=512"];

const ASK_MS_MAX = 5000;
const START_MS_MAX = 20_000; // A hundred times the start time on an idle machine.
const POLL_MS = 10;
const LOG_FILE = "proxy.log";
const LOG_BYTES_MAX = 1 << 20;
const LOG_TAIL_LENGTH = 2000;
const SOCKET_PATH_BYTES_MAX = 107; // Size of the kernel's `sun_path`, less its final zero.

/** @param folder Absolute, existing, and accessible only to us. */
export function openInstances(folder: string, program: ProxyProgram): Instances {
  const descriptor = openSync(folder, "r");
  let isOpen = true;
  const env = { NODE_COMPILE_CACHE: join(folder, "cache"), MALLOC_ARENA_MAX: "1" };

  /** If the path is too long for the kernel, the folder is addressed by its descriptor. */
  function socketPath(pid: number): string {
    const path = join(folder, socketName(pid));
    if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return path;
    return `/proc/self/fd/${descriptor}/${socketName(pid)}`;
  }

  /** Identifies the process of a socket, since process ids are reused. */
  const recordPath = (pid: number) => join(folder, `${pid}.json`);

  const ask: Instances["ask"] = (pid, name, input) => askSocket(socketPath(pid), name, input);

  /** Its first answer; `undefined` when it exits or the time is up. */
  async function firstStatus(process: ProcessIdentity, waitMs: number): Promise<Instance | undefined> {
    const deadline = Date.now() + waitMs;
    while (isLiving(process) && Date.now() < deadline) {
      const status = await ask(process.pid, "stats", undefined).catch(() => undefined);
      if (status?.pid === process.pid) return status;
      await delay(POLL_MS);
    }
    return undefined;
  }

  /**
   * The proxy behind a socket, even if its process id was used before. Its record may be missing, because it is
   * written after the start.
   */
  async function findOne(pid: number): Promise<Instance | undefined> {
    const record = await readJson<ProcessIdentity>(recordPath(pid));
    if (record !== undefined) return await firstStatus(record, ASK_MS_MAX);
    const status = await ask(pid, "stats", undefined).catch(() => undefined);
    if (status?.pid !== pid) return undefined;
    await writeJson(recordPath(pid), identify(pid));
    return status;
  }

  async function isRunning(pid: number): Promise<boolean> {
    const record = await readJson<ProcessIdentity>(recordPath(pid));
    return record !== undefined && isLiving(record);
  }

  async function end(pid: number, graceSeconds: number): Promise<void> {
    if (await isRunning(pid)) await endGroup({ groupId: pid }, graceSeconds);
    for (const path of [recordPath(pid), join(folder, socketName(pid))]) await rm(path, { force: true });
  }

  return {
    async find() {
      const found: Instance[] = [];
      for (const pid of namedPids(await readdir(folder))) {
        const status = await findOne(pid);
        if (status === undefined) await end(pid, 0);
        else found.push(status);
      }
      return found;
    },

    async start(config) {
      await warmUp(folder, program, env);
      const logFile = join(folder, LOG_FILE);
      await cutLog(logFile);
      const argv: Argv = [...program.command, JSON.stringify(config)];
      const { pid } = await spawnDetached(argv, { env, cwd: folder, logFile });
      const process = identify(pid);
      if (process !== undefined) {
        await writeJson(recordPath(pid), process);
        const status = await firstStatus(process, START_MS_MAX);
        if (status !== undefined) return status;
      }
      await end(pid, 0);
      const cause = (await readFile(logFile, "utf8")).slice(-LOG_TAIL_LENGTH);
      throw new DomainError("setup.failed", `The proxy does not start. See ${logFile}.`, { cause });
    },

    ask,
    answers: (pid, withinSeconds) =>
      askSocket(socketPath(pid), "stats", undefined, withinSeconds * 1000).then(
        (status) => status.pid === pid,
        () => false,
      ),
    isLiving: isRunning,

    watch(pid, onEnd) {
      const sent = request({ socketPath: socketPath(pid), path: WATCH_PATH, agent: false });
      sent.on("response", (answer) => answer.resume());
      // All errors are treated alike, and each is followed by `close`.
      sent.on("error", () => {});
      sent.once("close", onEnd);
      sent.end();
      return () => {
        sent.off("close", onEnd);
        sent.destroy();
      };
    },

    end,
    close() {
      if (isOpen) closeSync(descriptor);
      isOpen = false;
    },
  };
}

function askSocket<Name extends keyof ControlRequests>(
  socketPath: string,
  name: Name,
  input: ControlRequests[Name],
  waitMsMax = ASK_MS_MAX,
): Promise<ProxyStatus> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(waitMsMax);
    const sent = request({ socketPath, path: `/${name}`, method: "POST", agent: false, signal }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.once("error", reject);
      answer.once("end", () => {
        if (answer.statusCode !== 200) reject(new Error(`The proxy answers ${answer.statusCode}.`));
        // Only a proxy listens in this folder, and it answers with its status.
        else resolve(JSON.parse(Buffer.concat(chunks).toString()) as ProxyStatus);
      });
    });
    sent.on("error", reject);
    sent.end(input === undefined ? undefined : JSON.stringify(input));
  });
}

/** Process ids of records and sockets. */
function namedPids(names: readonly string[]): Set<number> {
  return new Set(names.flatMap((name) => /^(\d+)\.(?:json|sock)$/.exec(name)?.[1] ?? []).map(Number));
}

async function cutLog(path: string): Promise<void> {
  const { size } = await stat(path).catch(() => ({ size: 0 })); // The file does not exist before the first start.
  if (size > LOG_BYTES_MAX) await truncate(path);
}

/** Runs once for each version, see `WARM_ARGUMENT`. */
async function warmUp(folder: string, program: ProxyProgram, env: Readonly<Record<string, string>>): Promise<void> {
  const marker = join(folder, "cache", "warm.json");
  if ((await readJson<string>(marker)) === program.version) return;
  await rm(join(folder, "cache"), { recursive: true, force: true });
  const { exitCode, output } = await run([...program.command, WARM_ARGUMENT], { env, cwd: folder, timeoutSeconds: 60 });
  if (exitCode !== 0) {
    throw new DomainError("setup.failed", "The proxy's program does not run. Install Berth anew.", { cause: output });
  }
  await writeJson(marker, program.version);
}
