import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CUT_ROUNDS } from "@berth/testing";
import { signal } from "./processes.ts";
import { atRowEnd } from "./row-end.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
/** Names of the suites' files begin with this. */
const SUITES = "/cut-";

/** Runs the suites that cut one kind of connection each, with so many cuts at each moment. */
export async function cutConnections(rounds: number): Promise<string> {
  const report = join(mkdtempSync(join(tmpdir(), "berth-cuts-")), "report.json");
  const child = spawn("npx", ["vitest", "run", SUITES, "--retry=0", "--reporter=json", `--outputFile=${report}`], {
    cwd: ROOT,
    env: { ...process.env, [CUT_ROUNDS]: String(rounds) },
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
  const skipped = of("skipped").length;
  return `${of("passed").length} tests of ${testResults.length} kinds passed${skipped === 0 ? "" : `, ${skipped} not possible here`}`;
}

/** Those fields of vitest's report that are read here. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}
