import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** @returns Milliseconds that `work` took. */
export async function took(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

/**
 * For a promise in seconds: it is made for a machine that has the time to keep it. Where starting a program takes longer
 * at this moment than on one at rest, the limit grows as much.
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
/** What `node -e 0` takes on a machine of 2026 with two processors at rest. */
const START_MS = 45;
