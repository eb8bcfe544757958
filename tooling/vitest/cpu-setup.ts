import { readFileSync } from "node:fs";
import { afterAll, beforeAll } from "vitest";

const TICKS_PER_SECOND = 100; // Linux has had no other value of USER_HZ on any platform that Node supports.

let startedAt = 0;

beforeAll(() => {
  startedAt = cpuSeconds();
});

// The first hook that is registered ends last, so this counts what the suites' own hooks did.
// biome-ignore lint/correctness/noEmptyPattern: vitest refuses a first argument that is not a pattern.
afterAll(({}, file) => {
  file.meta.cpuSeconds = cpuSeconds() - startedAt;
});

/** CPU time of this worker and of its ended programs. Containers count for their engine. */
function cpuSeconds(): number {
  const stat = readFileSync("/proc/self/stat", "latin1");
  // The name in parentheses may hold anything; `utime` is the 14th field, and the times of children follow.
  const [utime, stime, cutime, cstime] = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .slice(11, 15)
    .map(Number);
  return ((utime ?? 0) + (stime ?? 0) + (cutime ?? 0) + (cstime ?? 0)) / TICKS_PER_SECOND;
}

declare module "vitest" {
  interface TaskMeta {
    /** Set on a file at its end. */
    cpuSeconds?: number;
  }
}
