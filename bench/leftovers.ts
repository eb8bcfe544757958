import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const GRACE_SECONDS = 10; // A server ends its applications, proxy and database itself.

/** Ends every process of a bench: its own children, and all that name its folder, even those adopted by init. */
export async function endAllOf(folder: string): Promise<void> {
  const deadline = Date.now() + GRACE_SECONDS * 1000;
  signalAll(childrenOf(process.pid), "SIGTERM");
  while (childrenOf(process.pid).length > 0 && Date.now() < deadline) await delay(50);
  for (;;) {
    const left = [...childrenOf(process.pid), ...namedAfter(folder)];
    if (left.length === 0) return;
    signalAll(left, "SIGKILL");
    await delay(50);
  }
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has exited since it was listed.
    }
  }
}

const childrenOf = (parent: number): number[] =>
  pids().filter((pid) => new RegExp(`\\) [^ZX] ${parent} `).test(file(pid, "stat")));

const namedAfter = (folder: string): number[] =>
  pids().filter((pid) => pid !== process.pid && (file(pid, "cmdline") + file(pid, "environ")).includes(folder));

const pids = (): number[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

/** Empty for a process that has exited. */
function file(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch {
    return "";
  }
}
