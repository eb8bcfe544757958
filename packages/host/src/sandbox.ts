import { existsSync } from "node:fs";
import { DomainError } from "@berth/core";
import type { Argv } from "./argv.ts";

/** Folders that a sandboxed process sees, besides the system's own. All paths are real paths. */
export interface NewSandbox {
  /** An empty folder of ours in which the new root is built. Below `hidden`. */
  readonly stage: string;
  /** Appears empty except for `visible`. */
  readonly hidden: string;
  /** Existing folders that appear unchanged. */
  readonly visible: readonly string[];
}

/**
 * Namespaces of a process: its own /tmp, /var/tmp, /dev/shm, /run/lock and IPC, a file system without `hidden`, and a
 * /proc with the user's own processes only. Either new ones, or those of a running process.
 */
export type Sandbox = { readonly create: NewSandbox } | { readonly join: number };

/**
 * The new root is a copy of the machine's mounts, changed before any process can use it, and then replaces the old
 * root, so that hidden folders cannot be reached. Unmounts of the machine propagate, or a disk could never be removed.
 *
 * One `mount` makes all of them, in the order of a table, since starting a program for each costs more than mounting.
 * It leaves out what is mounted already, so their source has a name that nothing else has.
 */
const SET_UP = `set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
stage=$1 stage_in_table=$2 hidden_in_table=$3
shift 3
everybody=nosuid,nodev,mode=1777
# The table lies in a file system that only this sandbox has, below the new root and gone with the old one.
mount -t tmpfs -o nosuid,nodev,mode=0700,size=1m berth "$stage"
add() { printf "%s %s%s %s %s\\n" "$2" "$stage_in_table" "$3" "$1" "$4"; }
{
  add none / "" rbind
  # A link would lead to the folder of the machine.
  [ ! -L /tmp ]
  add tmpfs "berth-$$" /tmp $everybody,size=1g
  if [ -d /var/tmp ] && [ ! -L /var/tmp ]; then add none "$stage_in_table/tmp" /var/tmp bind; fi
  if [ -d /dev/shm ]; then add tmpfs "berth-$$" /dev/shm $everybody,size=1g; fi
  # Where everybody may write too, on one system or another.
  for place in /run/lock /var/lock /run/screen /var/crash /var/metrics; do
    if [ -d $place ] && [ ! -L $place ]; then add tmpfs "berth-$$" $place $everybody,size=8m; fi
  done
  add tmpfs "berth-$$" "$hidden_in_table" nosuid,nodev,mode=0711,size=1m,X-mount.mkdir
  while [ "$1" != -- ]; do
    add none "$1" "$1" rbind,X-mount.mkdir
    shift
  done
  add proc "berth-$$" /proc nosuid,nodev,noexec,hidepid=2
} >"$stage/table"
shift
mount --all --fstab "$stage/table"
cd "$stage"
pivot_root . .
umount -l .
cd /
exec "$@"`;

/** Arguments that run the following ones in the sandbox with our own user; a change of user comes after them. */
export function sandboxArgv(sandbox: Sandbox): Argv {
  if ("join" in sandbox) return [systemProgram("nsenter"), "-t", String(sandbox.join), "--mount", "--ipc", "--"];
  const { stage, hidden, visible } = sandbox.create;
  const unshare: Argv = [systemProgram("unshare"), "--mount", "--ipc", "--propagation", "slave", "--"];
  const inTable = [stage, hidden, ...visible].map(tableField);
  return [...unshare, "/bin/sh", "-c", SET_UP, "berth-sandbox", stage, ...inTable, "--"];
}

/** A path as a table of `mount` writes it, where spaces separate fields. */
const tableField = (path: string): string =>
  path.replaceAll(/[\\ \t\n#]/g, (sign) => `\\${sign.charCodeAt(0).toString(8).padStart(3, "0")}`);

/**
 * Resolves a full path: the PATH of an application must not decide which program runs for it.
 * @throws DomainError `setup.failed`
 */
export function systemProgram(name: string): string {
  const path = findProgram(name);
  if (path !== undefined) return path;
  throw new DomainError(
    "setup.failed",
    `The program ${name} is missing. Install the packages coreutils and util-linux.`,
  );
}

export const findProgram = (name: string): string | undefined =>
  ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    .map((folder) => `${folder}/${name}`)
    .find((candidate) => existsSync(candidate));
