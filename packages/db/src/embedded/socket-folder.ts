import { chown, mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DatabaseOwner } from "./owner.ts";

/** The kernel's limit for the path of a unix socket, without the final zero byte. */
const SOCKET_PATH_BYTES_MAX = 107;

/** A folder for the database's socket: `preferred`, or a short temporary one if its path would be too long. */
export async function makeSocketFolder(preferred: string, owner: DatabaseOwner, port: number): Promise<string> {
  if (Buffer.byteLength(join(preferred, `.s.PGSQL.${port}`)) <= SOCKET_PATH_BYTES_MAX) return preferred;
  // A session's own runtime folder is closed to other users, which the database may be.
  const parent = owner.ids === undefined ? (process.env.XDG_RUNTIME_DIR ?? tmpdir()) : tmpdir();
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "berth-")); // with mode 0700 and a name that cannot exist already
  if (owner.ids !== undefined) await chown(folder, owner.ids.uid, owner.ids.gid);
  return folder;
}
