import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import { type FileLock, type LockAttempt, lockFile } from "@berth/host";

/**
 * Locks a data folder for this process, so that a second server on it is refused.
 * @throws DomainError `setup.failed`
 */
export function lockFolder(folder: string): FileLock {
  const { lock, ...other } = attempt(folder);
  if (lock !== undefined) return lock;
  const holder = "pid" in other && other.pid !== undefined ? ` (process ${other.pid})` : "";
  throw new DomainError(
    "setup.failed",
    `Another Berth server${holder} uses the data folder ${folder}. Stop it, or set BERTH_DATA to another folder.`,
  );
}

function attempt(folder: string): LockAttempt {
  try {
    mkdirSync(folder, { recursive: true });
    return lockFile(join(folder, "server.lock"));
  } catch (cause) {
    throw new DomainError(
      "setup.failed",
      `The data folder ${folder} cannot be written. Make it writable for this user, or set BERTH_DATA to another folder.`,
      { cause },
    );
  }
}
