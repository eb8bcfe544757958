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
 * Locks a file for this process until it is released or the process dies.
 *
 * Node offers no lock on files, SQLite does: an open exclusive transaction is a POSIX record lock, which the kernel drops
 * in the moment the process dies, however it dies, and which holds between containers that share the folder. A file with
 * a process id would have to be judged after a crash, and two processes that judge it at once could both win.
 *
 * @param given In a folder that exists. The holder's process id is written beside it, with the ending `.pid`.
 * @throws What the file system says, when the files cannot be written.
 */
export function lockFile(given: string): LockAttempt {
  // The same file by another path is the same lock.
  const path = join(realpathSync(dirname(given)), basename(given));
  if (held.has(path)) return { lock: undefined, pid: String(process.pid) };
  let database: DatabaseSync | undefined;
  try {
    closeSync(openSync(path, "a", 0o600)); // Nobody else may lock it.
    database = new DatabaseSync(path, { timeout: 0 });
    // Nothing is ever written, so no journal is needed beside the file.
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

/** By this process: a record lock does not keep it from itself, and closing the file once more would drop the lock. */
const held = new Set<string>();

const SQLITE_BUSY = 5;

const isBusy = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;

function holder(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").trim() || undefined;
  } catch {
    return undefined; // The message is only shorter without it.
  }
}
