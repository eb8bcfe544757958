import { readdirSync, readFileSync } from "node:fs";

/** The fields of `/proc/PID/stat` that supervision needs. */
export interface ProcessStat {
  readonly pid: number;
  /** Name of the executed file, cut to 15 characters; a process may change it. */
  readonly name: string;
  /** One letter; `Z` and `X` are dead, only not reaped yet. */
  readonly state: string;
  readonly parentPid: number;
  readonly groupId: number;
  /** User and system time, in clock ticks. */
  readonly cpuTicks: number;
  /** Clock ticks from boot to its start: with the boot's id it names a process for ever. */
  readonly startTime: string;
  readonly residentPages: number;
}

/** `undefined` when there is no such process, or it has ended and only waits to be reaped. */
export function processStat(pid: number): ProcessStat | undefined {
  const stat = readStat(pid);
  return stat === undefined || stat.state === "Z" || stat.state === "X" ? undefined : stat;
}

/** Every living process, unsorted. */
export function processes(): ProcessStat[] {
  return pids().flatMap((pid) => processStat(pid) ?? []);
}

/** Living members of a process group. A zombie that its parent is slow to reap does not count. */
export function groupMembers(groupId: number): ProcessStat[] {
  return processes().filter((stat) => stat.groupId === groupId);
}

/**
 * Living processes whose environment at start held exactly this `NAME=value`: finds the ones that left their group to
 * become daemons. Those of other users are seen only by root.
 */
export function pidsWithEnv(entry: string): number[] {
  const wanted = Buffer.from(entry);
  return processes()
    .map((stat) => stat.pid)
    .filter((pid) => hasEntry(readBytes(`/proc/${pid}/environ`), wanted));
}

/** Living processes of a user. */
export function pidsOfUser(uid: number): number[] {
  return processes()
    .map((stat) => stat.pid)
    .filter((pid) => isOfUser(pid, uid));
}

/** By the process's status: who owns its folder in /proc is its own choice. */
export function isOfUser(pid: number, uid: number): boolean {
  const [, ids = ""] = /^Uid:\s+(.+)$/m.exec(readBytes(`/proc/${pid}/status`)?.toString("latin1") ?? "") ?? [];
  return ids.split("\t").includes(String(uid));
}

/** The process's arguments, unless it has replaced them by a title; empty when it is gone. */
export function commandLine(pid: number): string[] {
  return readBytes(`/proc/${pid}/cmdline`)?.toString().split("\0").filter(Boolean) ?? [];
}

/** Changes with every boot of the machine, so never while we run. */
export function bootId(): string {
  knownBootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return knownBootId;
}

let knownBootId: string | undefined;

function hasEntry(environ: Buffer | undefined, entry: Buffer): boolean {
  if (environ === undefined) return false;
  for (let at = environ.indexOf(entry); at !== -1; at = environ.indexOf(entry, at + 1)) {
    const end = at + entry.length;
    if ((at === 0 || environ[at - 1] === 0) && (end === environ.length || environ[end] === 0)) return true;
  }
  return false;
}

function readStat(pid: number): ProcessStat | undefined {
  const text = readBytes(`/proc/${pid}/stat`)?.toString("latin1");
  if (text === undefined) return undefined;
  // The name stands in parentheses and may itself hold spaces and parentheses, so fields count from the last one.
  const [state = "X", ...fields] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const field = (number: number) => fields[number - 4] ?? "0";
  return {
    pid,
    name: text.slice(text.indexOf("(") + 1, text.lastIndexOf(")")),
    state,
    parentPid: Number(field(4)),
    groupId: Number(field(5)),
    cpuTicks: Number(field(14)) + Number(field(15)),
    startTime: field(22),
    residentPages: Number(field(24)),
  };
}

function pids(): number[] {
  return readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** A process may end between being listed and being read; another user's may not be read at all. */
function readBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return undefined;
    throw cause;
  }
}
