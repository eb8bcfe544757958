import { DomainError } from "@berth/core";
import type { Argv } from "./argv.ts";
import { findProgram, type Sandbox, sandboxArgv, systemProgram } from "./sandbox.ts";

/** User and group of a process. */
export interface HostUser {
  readonly uid: number;
  readonly gid: number;
}

/** Arguments and ids with which `argv` runs as `user`. */
export interface SpawnAs {
  readonly argv: Argv;
  readonly ids: { readonly uid?: number; readonly gid?: number };
  /** `undefined`: our own working directory. */
  readonly cwd: string | undefined;
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/**
 * The process has no groups, no capabilities and no way to gain any, not even by setuid programs.
 *
 * In a sandbox we stay root until its file system is ready, so no program started until then may read variables of the
 * user: see `carriedEnv`. Without a sandbox the ids are changed before anything is executed.
 *
 * The working directory is entered afterwards: root could follow links to folders that the user may not enter.
 *
 * @throws DomainError `engine.failed` when we are not root and `user` is someone else.
 */
export function asUser(argv: Argv, { user, cwd, sandbox }: Identity): SpawnAs {
  if (user === undefined) return { argv, ids: {}, cwd };
  if (!isRoot()) {
    if (user.uid === process.getuid?.() && user.gid === process.getgid?.()) return { argv, ids: {}, cwd };
    throw new DomainError(
      "engine.failed",
      "Only root can run a process as another user. Start Berth as root for this.",
    );
  }
  const entering: Argv = cwd === undefined ? argv : ["/usr/bin/env", "-C", cwd, "--", ...argv];
  if (sandbox !== undefined) {
    return { argv: [...sandboxArgv(sandbox), ...userArgv(user), ...entering], ids: {}, cwd: "/" };
  }
  const setpriv = findProgram("setpriv");
  const harmless: Argv = setpriv === undefined ? entering : [setpriv, "--no-new-privs", "--", ...entering];
  return { argv: harmless, ids: user, cwd: "/" };
}

/** Arguments that run the following ones as `user`, without groups, capabilities or a way to gain any. */
const userArgv = ({ uid, gid }: HostUser): Argv => [
  systemProgram("setpriv"),
  ...["--reuid", String(uid), "--regid", String(gid), "--clear-groups"],
  ...["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"],
];

export interface Identity {
  readonly user?: HostUser | undefined;
  readonly cwd?: string | undefined;
  /** Allowed only with a user. */
  readonly sandbox?: Sandbox | undefined;
}
