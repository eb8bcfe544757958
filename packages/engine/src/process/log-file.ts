import { existsSync, statSync, truncateSync } from "node:fs";
import { appendFile, copyFile, type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { processStat, readJson, writeJson } from "@berth/host";
import pLimit from "p-limit";

export interface LogLimits {
  /** Size from which the file is rotated. */
  readonly maxBytes: number;
  /** Number of rotated files that are kept. */
  readonly rotatedFiles: number;
}

export const LOG_LIMITS: LogLimits = { maxBytes: 10 << 20, rotatedFiles: 2 }; // 30 MiB for each release.

/**
 * A log with numbered bytes: the first one ever written is 0, even after rotation. The newest bytes are in the file
 * `log`, older ones in `log.N`, where N is the number of the file's first byte.
 */
export interface LogFile {
  /** Number of the oldest stored byte, and of the next one to be written. */
  bounds(): { readonly start: number; readonly end: number };
  /** Reads up to `length` bytes from `from`, or from the oldest stored byte; empty at the end. */
  read(from: number, length: number): Promise<{ readonly from: number; readonly bytes: Buffer }>;
  /** Ends an incomplete last line, so that the next run begins on a new line. */
  endLine(): Promise<void>;
  /** @param writers Processes that append to the log. They are paused meanwhile, so that no output is lost. */
  rotateIfFull(writers: () => readonly number[]): Promise<void>;
  /** Finishes a rotation that an earlier control plane had begun, and resumes the writers. */
  recover(writers: readonly number[]): Promise<void>;
}

interface RotationState {
  /** Number of the first byte of `log`. */
  readonly base: number;
  /** Whether `log` still begins with bytes that were already copied to a rotated file. */
  readonly isCut: boolean;
}

export function logFile(path: string, limits: LogLimits = LOG_LIMITS): LogFile {
  const statePath = `${path}.json`;
  const locked = pLimit(1);
  let state: RotationState = { base: 0, isCut: true };
  let rotated: readonly { readonly start: number; readonly size: number }[] = [];

  const size = () => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const rotatedPath = (start: number) => `${path}.${start}`;

  async function save(next: RotationState): Promise<void> {
    await writeJson(statePath, next);
    state = next;
  }

  async function listRotated(): Promise<void> {
    const names = await readdir(dirname(path));
    const prefix = `${basename(path)}.`;
    const starts = names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    rotated = starts
      .filter((start) => /^\d+$/.test(start) && Number(start) < state.base)
      .map((start) => ({ start: Number(start), size: statSync(rotatedPath(Number(start))).size }))
      .sort((a, b) => a.start - b.start);
  }

  async function cut(): Promise<void> {
    truncateSync(path);
    await save({ ...state, isCut: true });
  }

  async function rotate(): Promise<void> {
    const { base } = state;
    const temporary = `${path}.copy`;
    await copyFile(path, temporary);
    await rename(temporary, rotatedPath(base));
    await save({ base: base + statSync(rotatedPath(base)).size, isCut: false });
    await cut();
    await listRotated();
    for (const { start } of rotated.slice(0, -limits.rotatedFiles)) await rm(rotatedPath(start), { force: true });
    rotated = rotated.slice(-limits.rotatedFiles);
  }

  return {
    bounds: () => ({ start: rotated[0]?.start ?? state.base, end: state.base + (state.isCut ? size() : 0) }),
    read: (from, length) =>
      locked(async () => {
        const old = rotated.find((file) => from < file.start + file.size);
        const [file, first] = old === undefined ? [path, state.base] : [rotatedPath(old.start), old.start];
        const start = Math.max(from, first);
        return { from: start, bytes: await readBytes(file, start - first, length) };
      }),
    endLine: () =>
      locked(async () => {
        const last = size() - 1;
        if (last >= 0 && (await readBytes(path, last, 1)).toString() !== "\n") await appendFile(path, "\n");
      }),
    rotateIfFull: (writers) =>
      locked(async () => {
        if (size() < limits.maxBytes) return;
        const pids = writers();
        try {
          if (await hold(pids)) await rotate();
        } finally {
          for (const pid of pids) signal(pid, "SIGCONT");
        }
      }),
    recover: (writers) =>
      locked(async () => {
        state = (await readJson<RotationState>(statePath)) ?? state;
        if (!state.isCut) await cut();
        if (existsSync(dirname(path))) await listRotated();
        for (const pid of writers) signal(pid, "SIGCONT");
      }),
  };
}

/** Whether all of them are stopped now, or have exited. */
async function hold(pids: readonly number[]): Promise<boolean> {
  for (const pid of pids) signal(pid, "SIGSTOP");
  const deadline = Date.now() + 1000;
  const isWriting = () => pids.some((pid) => !["T", undefined].includes(processStat(pid)?.state));
  while (isWriting() && Date.now() < deadline) await delay(2);
  return !isWriting();
}

async function readBytes(path: string, offset: number, length: number): Promise<Buffer> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return Buffer.alloc(0);
    throw cause;
  }
  try {
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await file.read(buffer, 0, length, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function signal(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  try {
    process.kill(pid, name);
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause;
  }
}
