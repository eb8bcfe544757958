import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** @returns Duration of `work` in milliseconds. */
export async function took(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/**
 * Checks a time limit that is meant for an idle machine. If starting a program takes longer now than on an idle
 * machine, the limit grows by the same factor.
 * @throws Error
 */
export async function assertTook(ms: number, limitMs: number, details = ""): Promise<void> {
  if (ms <= limitMs) return;
  const factor = await slowness();
  if (ms <= limitMs * factor) return;
  throw new Error(
    `Took ${Math.round(ms)} ms instead of at most ${limitMs}; the machine is ${factor.toFixed(1)} times slower than at rest. ${details}`,
  );
}

async function slowness(): Promise<number> {
  const ms = await took(async () => {
    for (let turn = 0; turn < TURNS; turn += 1) await promisify(execFile)(process.execPath, ["-e", "0"]);
  });
  return Math.max(1, ms / TURNS / START_MS);
}

const TURNS = 5;
/** Time for `node -e 0` on an idle machine of 2026 with two processors. */
const START_MS = 45;
