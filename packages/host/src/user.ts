import { existsSync } from "node:fs";
import { DomainError } from "@berth/core";
import type { Argv } from "./argv.ts";

/** User and group of a process. */
export interface HostUser {
  readonly uid: number;
  readonly gid: number;
}

/** Arguments and ids that run `argv` as `user`. */
export interface SpawnAs {
  readonly argv: Argv;
  readonly ids: { readonly uid?: number; readonly gid?: number };
  /** `undefined`: ours. */
  readonly cwd: string | undefined;
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * The process keeps no group, no capability and no way to gain one (setuid programs included).
 *
 * The ids are changed before anything is executed. It must stay so: the environment may come from a user, and a program
 * started as root would obey its LD_PRELOAD. So setpriv is not asked to change them.
 *
 * The folder is entered after that: root would get through links that lead where the user may not go.
 *
 * @throws DomainError `engine.failed` when we are not root and `user` is someone else.
 */
export function asUser(argv: Argv, user: HostUser | undefined, cwd: string | undefined): SpawnAs {
  if (user === undefined) return { argv, ids: {}, cwd };
  if (!isRoot()) {
    if (user.uid === process.getuid?.() && user.gid === process.getgid?.()) return { argv, ids: {}, cwd };
    throw new DomainError(
      "engine.failed",
      "Only root can run a process as another user. Start Berth as root for this.",
    );
  }
  const setpriv = SETPRIV_PATHS.find((path) => existsSync(path));
  const harmless: Argv = setpriv === undefined ? argv : [setpriv, "--no-new-privs", "--", ...argv];
  return { argv: cwd === undefined ? harmless : ["/usr/bin/env", "-C", cwd, "--", ...harmless], ids: user, cwd: "/" };
}

// Part of util-linux, which is always installed on Debian and its derivatives.
const SETPRIV_PATHS = ["/usr/bin/setpriv", "/bin/setpriv"];
