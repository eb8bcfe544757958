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
 */
const SET_UP = `set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
umask 022
stage=$1 hidden=$2
shift 2
mount --rbind / "$stage"
# A link would lead to the folder of the machine.
[ ! -L "$stage/tmp" ]
mount -t tmpfs -o nosuid,nodev,mode=1777,size=1g berth "$stage/tmp"
if [ -d "$stage/var/tmp" ] && [ ! -L "$stage/var/tmp" ]; then mount --bind "$stage/tmp" "$stage/var/tmp"; fi
if [ -d "$stage/dev/shm" ]; then mount -t tmpfs -o nosuid,nodev,mode=1777,size=1g berth "$stage/dev/shm"; fi
# Where everybody may write too, on one system or another.
for place in /run/lock /var/lock /run/screen /var/crash /var/metrics; do
  if [ -d "$stage$place" ] && [ ! -L "$stage$place" ]; then
    mount -t tmpfs -o nosuid,nodev,mode=1777,size=8m berth "$stage$place"
  fi
done
mkdir -p "$stage$hidden"
mount -t tmpfs -o nosuid,nodev,mode=0711,size=1m berth "$stage$hidden"
while [ "$1" != -- ]; do
  mkdir -p "$stage$1"
  mount --rbind "$1" "$stage$1"
  shift
done
shift
mount -t proc -o nosuid,nodev,noexec,hidepid=2 proc "$stage/proc"
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
  return [...unshare, "/bin/sh", "-c", SET_UP, "berth-sandbox", stage, hidden, ...visible, "--"];
}

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
