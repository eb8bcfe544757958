import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { signal } from "./processes.ts";
import { atRowEnd } from "./row-end.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

/** In the environment of suites that have a matrix too wide for `npm test`: they try all of it. */
export const WIDE = "BERTH_TEST_WIDE";

/**
 * Runs test suites.
 * @param files Part of their files' names.
 * @returns How many tests passed. @throws Error with the names of those that failed.
 */
export async function runSuites(files: string, env: Readonly<Record<string, string>>): Promise<Passed> {
  const report = join(mkdtempSync(join(tmpdir(), "berth-suites-")), "report.json");
  const child = spawn("npx", ["vitest", "run", files, "--retry=0", "--reporter=json", `--outputFile=${report}`], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: "ignore",
    detached: true,
  });
  const ended = once(child, "close");
  const { pid } = child;
  atRowEnd(() => pid !== undefined && signal(-pid, "SIGTERM"));
  await ended;
  const { testResults }: Report = JSON.parse(readFileSync(report, "utf8"));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const of = (status: string) => tests.filter((test) => test.status === status);
  const failed = [
    ...of("failed").map(({ fullName }) => fullName),
    // A suite that could not begin has no tests.
    ...testResults
      .filter(({ status, assertionResults }) => status === "failed" && assertionResults.length === 0)
      .map(({ name }) => name),
  ];
  if (failed.length > 0) throw new Error(`failed: ${failed.join("; ")}`);
  return { files: testResults.length, passed: of("passed").length, skipped: of("skipped").length };
}

export interface Passed {
  readonly files: number;
  readonly passed: number;
  readonly skipped: number;
}

/** Those fields of vitest's report that are read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}
