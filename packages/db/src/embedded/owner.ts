import { chown, lchown, readdir, stat } from "node:fs/promises";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { DomainError } from "@berth/core";
import { type Ids, run } from "./process.ts";

/** The user that runs the database's processes and owns its files. */
export interface DatabaseOwner {
  readonly name: string;
  /** `undefined`: the current user. */
  readonly ids: Ids | undefined;
}

const OWN_USER = "berth-postgres";
const NOBODY = "nobody";

/**
 * PostgreSQL refuses to run as root, so root creates a user for it, which applications never get. Other users run it
 * themselves.
 *
 * @returns `undefined` if the current user has no name, e.g. in a container started with a bare user id: PostgreSQL
 * needs one.
 */
export async function databaseOwner(onNotice: (line: string) => void): Promise<DatabaseOwner | undefined> {
  if (process.getuid?.() !== 0) {
    const name = ownName();
    return name === undefined ? undefined : { name, ids: undefined };
  }
  const existing = await lookUp(OWN_USER);
  if (existing !== undefined) return existing;
  const made = await run("useradd", ["--system", "--no-create-home", "--shell", "/usr/sbin/nologin", OWN_USER]);
  // The exit code is ignored, since another process may have created the user in the meantime.
  const created = await lookUp(OWN_USER);
  if (created !== undefined) return created;
  onNotice(
    `The database runs as ${NOBODY}, since the system user ${OWN_USER} could not be made: ${firstLine(made.stderr)}`,
  );
  return (await lookUp(NOBODY)) ?? { name: NOBODY, ids: { uid: 65534, gid: 65534 } };
}

export const ownName = (): string | undefined => {
  try {
    return userInfo().username;
  } catch {
    // The system does not know the user id of this process.
    return undefined;
  }
};

async function lookUp(name: string): Promise<DatabaseOwner | undefined> {
  const [user, group] = await Promise.all([run("id", ["-u", name]), run("id", ["-g", name])]);
  if (user.exitCode !== 0 || group.exitCode !== 0) return undefined;
  return { name, ids: { uid: Number(user.stdout), gid: Number(group.stdout) } };
}

/** @throws DomainError `setup.failed` with the first folder of the path that the database's user cannot pass. */
export async function requireReach(owner: DatabaseOwner, folder: string): Promise<void> {
  const { ids } = owner;
  if (ids === undefined) return;
  for (let current = dirname(folder); ; current = dirname(current)) {
    const { mode, uid, gid } = await stat(current);
    const isOpen =
      uid === ids.uid ? (mode & 0o100) !== 0 : gid === ids.gid ? (mode & 0o010) !== 0 : (mode & 0o001) !== 0;
    if (!isOpen) {
      throw new DomainError(
        "setup.failed",
        `The database's user ${owner.name} cannot reach ${folder}, since ${current} is closed to it. ` +
          `Set BERTH_DATA to a folder elsewhere, e.g. below /var/lib, or run: chmod o+x ${current}`,
      );
    }
    if (current === dirname(current)) return;
  }
}

/**
 * Changes the owner of a folder and its content to the database's user. Does nothing if the folder has that owner
 * already.
 */
export async function giveTo(owner: DatabaseOwner, folder: string): Promise<void> {
  const { ids } = owner;
  if (ids === undefined || (await stat(folder)).uid === ids.uid) return;
  for (const entry of await readdir(folder, { recursive: true })) await lchown(join(folder, entry), ids.uid, ids.gid);
  // Last, so that an interrupted walk is repeated.
  await chown(folder, ids.uid, ids.gid);
}

const firstLine = (text: string): string => text.trim().split("\n")[0] ?? "";
