import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import { lockFile } from "@berth/host";
import { PROCESS_SETTINGS, USER_RANGE_SIZE } from "./settings.ts";

export interface UserRangeOptions {
  /**
   * The machine's folder of ranges in use. Each file is named after a range's first id and contains the owner's data
   * folder.
   */
  readonly registry: string;
  /** Records its own range too: so the instance keeps it, and a range whose data folder was removed becomes free. */
  readonly dataFolder: string;
  readonly warn: (message: string, cause: unknown) => void;
}

const LOCK_SECONDS_MAX = 10; // The lock is held for milliseconds only.
const RECORD = "user-range.json";

/**
 * The first user id of this instance's applications. Without separate ranges, two instances on one machine would run
 * applications as the same users, which could read each other's files and end each other's processes.
 * @throws DomainError `setup.failed` when the data folder is a copy of another instance's.
 */
export async function takeUserRange(options: UserRangeOptions): Promise<number> {
  try {
    mkdirSync(options.registry, { recursive: true, mode: 0o755 });
  } catch (cause) {
    options.warn(`The folder ${options.registry} cannot be created: ${SHARED_USERS}`, cause);
    return PROCESS_SETTINGS.uidBase;
  }
  const deadline = Date.now() + LOCK_SECONDS_MAX * 1000;
  for (;;) {
    const { lock } = lockFile(join(options.registry, "lock"));
    if (lock === undefined) {
      if (Date.now() > deadline) throw locked(options.registry);
      await delay(20);
      continue;
    }
    try {
      return chooseRange(options);
    } finally {
      lock.release();
    }
  }
}

const SHARED_USERS = "other instances of Berth on this machine may run applications as the same users.";

/** Synchronous, so that no other call of this process runs between its steps. */
function chooseRange({ registry, dataFolder, warn }: UserRangeOptions): number {
  const folder = realpathSync(dataFolder);
  const owners = ownersIn(registry);
  const own = recordOf(folder);
  const owner = own === undefined ? undefined : owners.get(own);
  if (owner !== undefined && owner !== folder) throw copied(folder, owner);
  const first = own ?? firstFree(owners);
  // Created before instances recorded their ranges: its applications' files belong to the ids from `uidBase` on.
  if (own === undefined && first !== PROCESS_SETTINGS.uidBase && hasApplications(folder)) {
    warn(`${owners.get(PROCESS_SETTINGS.uidBase)} is an instance of Berth too: ${SHARED_USERS}`, undefined);
    return PROCESS_SETTINGS.uidBase;
  }
  writeFileSync(join(folder, RECORD), JSON.stringify({ firstUid: first }), { mode: 0o600 });
  writeFileSync(join(registry, String(first)), folder, { mode: 0o644 });
  return first;
}

/** Data folders by the first id of their range; removed ones are left out. */
function ownersIn(registry: string): ReadonlyMap<number, string> {
  const ranges = readdirSync(registry).filter((name) => /^\d+$/.test(name));
  const entries = ranges.map((name) => [Number(name), readFileSync(join(registry, name), "utf8")] as const);
  return new Map(entries.filter(([first, folder]) => recordOf(folder) === first));
}

function recordOf(folder: string): number | undefined {
  const file = join(folder, RECORD);
  if (!existsSync(file)) return undefined;
  // Only `chooseRange` writes this file, in a folder that only we can change.
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly firstUid: number }).firstUid;
}

function firstFree(owners: ReadonlyMap<number, string>): number {
  let first = PROCESS_SETTINGS.uidBase;
  while (owners.has(first)) first += USER_RANGE_SIZE;
  return first;
}

const hasApplications = (folder: string): boolean =>
  readdirSync(folder, { withFileTypes: true }).some((entry) => entry.isDirectory() && !entry.name.startsWith("."));

function copied(folder: string, owner: string): DomainError {
  return new DomainError(
    "setup.failed",
    `The applications in ${folder} have the user ids of those in ${owner}, an instance of Berth on this machine. ` +
      `If one is a copy of the other, remove the one that is no longer used.`,
  );
}

const locked = (registry: string): DomainError =>
  new DomainError("setup.failed", `Another process holds ${join(registry, "lock")}. End it and start Berth again.`);
