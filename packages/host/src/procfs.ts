import { readdirSync, readFileSync } from "node:fs";

/** The fields of `/proc/PID/stat` that supervision needs. */
export interface ProcessStat {
  readonly pid: number;
  /** Name of the executed file, at most 15 characters; a process may change it. */
  readonly name: string;
  /** One letter; `Z` and `X` are dead processes that were not reaped yet. */
  readonly state: string;
  readonly parentPid: number;
  readonly groupId: number;
  /** User and system time, in clock ticks. */
  readonly cpuTicks: number;
  /** Clock ticks from boot to its start; together with the boot id it identifies a process for ever. */
  readonly startTime: string;
  readonly residentPages: number;
}

/** `undefined` when the process does not exist, or is dead and only waits to be reaped. */
export function processStat(pid: number): ProcessStat | undefined {
  const stat = readStat(pid);
  return stat === undefined || stat.state === "Z" || stat.state === "X" ? undefined : stat;
}

/** All living processes, unsorted. */
export function processes(): ProcessStat[] {
  return pids().flatMap((pid) => processStat(pid) ?? []);
}

/** Living members of a process group, without zombies. */
export function groupMembers(groupId: number): ProcessStat[] {
  return processes().filter((stat) => stat.groupId === groupId);
}

/**
 * Living processes that were started with exactly this `NAME=value`: finds daemons that left their group. Only root
 * sees the processes of other users.
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

/** Reads the status file: a process can influence who owns its folder in /proc. */
export function isOfUser(pid: number, uid: number): boolean {
  const [, ids = ""] = /^Uid:\s+(.+)$/m.exec(readBytes(`/proc/${pid}/status`)?.toString("latin1") ?? "") ?? [];
  return ids.split("\t").includes(String(uid));
}

/** Arguments of the process, unless it replaced them by a title; empty when it has exited. */
export function commandLine(pid: number): string[] {
  return readBytes(`/proc/${pid}/cmdline`)?.toString().split("\0").filter(Boolean) ?? [];
}

/** Changes with every boot of the machine, so never during our lifetime. */
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
  // The name is in parentheses and may contain spaces and parentheses, so fields are counted after the last one.
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

/** The process may exit before it is read, or belong to another user. */
function readBytes(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause) return undefined;
    throw cause;
  }
}
