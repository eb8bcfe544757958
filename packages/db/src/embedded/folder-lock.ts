import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DomainError } from "@berth/core";

export interface FolderLock {
  release(): void;
}

/**
 * Takes a data folder for this process: a second server on it is refused.
 *
 * Node offers no lock on files of its own, SQLite does: an open exclusive transaction is a POSIX record lock, which the
 * kernel drops in the moment the process dies, however it dies, and which holds between containers that share the folder.
 * A file with a process id would have to be judged after a crash, and two that judge it at once both win.
 *
 * @throws DomainError `setup.failed`
 */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true });
  const holderFile = join(folder, "server.pid");
  let lock: DatabaseSync | undefined;
  try {
    const lockFile = join(folder, "server.lock");
    closeSync(openSync(lockFile, "a", 0o600)); // nobody else may lock it
    lock = new DatabaseSync(lockFile, { timeout: 0 });
    // Nothing is ever written, so no journal is needed beside the file.
    lock.exec("pragma journal_mode = memory; begin exclusive");
    writeFileSync(holderFile, `${process.pid}\n`);
  } catch (cause) {
    lock?.close();
    if (!isBusy(cause)) {
      throw new DomainError(
        "setup.failed",
        `The data folder ${folder} cannot be written. Make it writable for this user, or set BERTH_DATA to another folder.`,
        { cause },
      );
    }
    throw new DomainError(
      "setup.failed",
      `Another Berth server${holder(holderFile)} uses the data folder ${folder}. Stop it, or set BERTH_DATA to another folder.`,
    );
  }
  const held = lock;
  return { release: () => held.close() };
}

const SQLITE_BUSY = 5;
const isBusy = (error: unknown): boolean =>
  error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;

function holder(file: string): string {
  try {
    return ` (process ${readFileSync(file, "utf8").trim()})`;
  } catch {
    // Only the sentence is shorter without it.
    return "";
  }
}
