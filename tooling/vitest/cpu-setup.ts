import { readFileSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";

const TICKS_PER_SECOND = 100; // Linux has no other value of USER_HZ on any platform that Node supports.

const SLOT_WAIT = Symbol.for("berth.test.docker.slot-wait");
/** Counted by `testing/src/docker-slot.ts`. */
const shared = globalThis as { [SLOT_WAIT]?: number };

let startedAt = 0;
let startedMs = 0;

beforeAll(() => {
  startedAt = cpuSeconds();
  startedMs = Date.now();
  shared[SLOT_WAIT] = 0;
});

// The first registered hook runs last, so the suites' own hooks are included.
// biome-ignore lint/correctness/noEmptyPattern: vitest refuses a first argument that is not a pattern.
afterAll(({}, file) => {
  file.meta.cpuSeconds = cpuSeconds() - startedAt;
  file.meta.startedMs = startedMs;
  file.meta.slotSeconds = (shared[SLOT_WAIT] ?? 0) / 1000;
});

/** CPU time of this worker and its exited child processes. Containers are not included. */
function cpuSeconds(): number {
  const stat = readFileSync("/proc/self/stat", "latin1");
  // The name in parentheses may contain anything; `utime` is the 14th field, followed by the times of children.
  const [utime, stime, cutime, cstime] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .map(Number);
  return ((utime ?? 0) + (stime ?? 0) + (cutime ?? 0) + (cstime ?? 0)) / TICKS_PER_SECOND;
}

declare module "vitest" {
  interface TaskMeta {
    /** Set on a test file at its end. */
    cpuSeconds?: number;
    /** Milliseconds since 1970. Set on a test file. */
    startedMs?: number;
    /** How long a test file waited for a place for containers. */
    slotSeconds?: number;
  }
}
