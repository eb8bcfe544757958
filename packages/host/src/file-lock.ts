import { closeSync, openSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface FileLock {
  release(): void;
}

export type LockAttempt =
  | { readonly lock: FileLock }
  /** `pid` is missing when the other process has not written it yet. */
  | { readonly lock: undefined; readonly pid: string | undefined };

/**
 * Locks a file until the lock is released or this process dies.
 *
 * Node has no file locks, but SQLite has: an open exclusive transaction is a POSIX record lock. The kernel releases it
 * at once when the process dies, and it also works between containers that share the folder. A file with a process id
 * would have to be checked after a crash, and two processes that check it at once could both win.
 *
 * @param given In an existing folder. The holder's process id is written beside it, with the extension `.pid`.
 * @throws The file system's error when the files cannot be written.
 */
export function lockFile(given: string): LockAttempt {
  // Resolved, so that another path to the same file is the same lock.
  const path = join(realpathSync(dirname(given)), basename(given));
  if (held.has(path)) return { lock: undefined, pid: String(process.pid) };
  let database: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, "a", 0o600)); // Mode 0600, so that other users cannot lock it.
    database = new DatabaseSync(path, { timeout: 0 });
    // Nothing is written, so no journal file is needed.
    database.exec("pragma journal_mode = memory; begin exclusive");
    writeFileSync(`${path}.pid`, `${process.pid}\n`);
  } catch (cause) {
    database?.close();
    if (!isBusy(cause)) throw cause;
    return { lock: undefined, pid: holder(`${path}.pid`) };
  }
  const taken = database;
  held.add(path);
  const release = () => {
    held.delete(path);
    taken.close();
  };
  return { lock: { release } };
}

/**
 * Locks of this process: a record lock does not exclude its own process, and closing the file again would release it.
 */
const held = new Set<string>();

const SQLITE_BUSY = 5;

const isBusy = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;

function holder(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch {
    return undefined; // The id is only used in a message.
  }
}
