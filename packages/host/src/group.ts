import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import { groupMembers, processStat } from "./procfs.ts";

/** Processes that are ended together. */
export interface ProcessGroup {
  /** Omit it when the leader has exited: the number may belong to another process by now. */
  readonly groupId?: number | undefined;
  /** Finds processes that left the group, e.g. by a variable in their environment. Called repeatedly. */
  readonly others?: (() => readonly number[]) | undefined;
  /**
   * Lists all of the processes, e.g. those in a cgroup; `undefined` where nothing keeps such a list. With a list nothing
   * else is looked for. Called repeatedly.
   */
  readonly all?: (() => readonly number[] | undefined) | undefined;
  /** Asks the group to exit, instead of a SIGTERM to every process. Called repeatedly until all have exited. */
  readonly ask?: (() => void) | undefined;
}

const POLL_MS_MIN = 5;
const POLL_MS_MAX = 50; // A scan of /proc takes about 3 ms.
const KILL_SECONDS_MAX = 30; // A killed process exits at once unless the kernel hangs, e.g. on a lost disk.

/**
 * Asks all processes of the group to exit, kills the remaining ones after `graceSeconds`, and resolves when none is
 * alive. Idempotent: resolves at once for a group without processes.
 * @throws DomainError `engine.failed` when a killed process is still alive after 30 seconds.
 */
export async function endGroup(group: ProcessGroup, graceSeconds: number): Promise<void> {
  const killAt = Date.now() + graceSeconds * 1000;
  const giveUpAt = killAt + KILL_SECONDS_MAX * 1000;
  if (graceSeconds > 0 && group.ask === undefined) signalGroup(group, "SIGTERM");
  for (let pollMs = POLL_MS_MIN; isAlive(group); pollMs = Math.min(POLL_MS_MAX, pollMs * 1.5)) {
    const now = Date.now();
    if (now > giveUpAt) {
      const pid = group.groupId ?? listed(group)[0];
      throw new DomainError("engine.failed", `Process ${pid} does not end. Look at it on the server.`);
    }
    // Repeated: a process may have forked between the scan and the signal.
    if (now >= killAt) signalGroup(group, "SIGKILL");
    else group.ask?.();
    await delay(pollMs);
  }
}

/** Whether any process of the group is alive. */
export function isAlive(group: ProcessGroup): boolean {
  const all = group.all?.();
  if (all !== undefined) return all.some((pid) => processStat(pid) !== undefined);
  return hasGroup(group.groupId) || listed(group).length > 0;
}

export function signalGroup(group: ProcessGroup, signal: NodeJS.Signals): void {
  if (group.groupId !== undefined) kill(-group.groupId, signal);
  for (const pid of listed(group)) kill(pid, signal);
}

function hasGroup(groupId: number | undefined): boolean {
  if (groupId === undefined) return false;
  try {
    process.kill(-groupId, 0);
  } catch (cause) {
    if (hasCode(cause, "ESRCH")) return false;
    if (!hasCode(cause, "EPERM")) throw cause;
  }
  // Without a walk through all processes in the usual case.
  if (processStat(groupId)?.groupId === groupId) return true;
  // The signal also reaches zombies, which process 1 of a container may never reap.
  return groupMembers(groupId).length > 0;
}

/** All of its processes where a list is kept, else those that left the group. */
function listed(group: ProcessGroup): readonly number[] {
  return (group.all?.() ?? group.others?.() ?? []).filter((pid) => pid !== process.pid);
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (cause) {
    // EPERM: the program changed to another user, so it can only be reported as still running.
    if (!hasCode(cause, "ESRCH") && !hasCode(cause, "EPERM")) throw cause;
  }
}

function hasCode(cause: unknown, code: string): boolean {
  return cause instanceof Error && "code" in cause && cause.code === code;
}
