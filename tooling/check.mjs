// The checks of `npm test` and CI, the fastest first. Each prints its own result.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dockerProblem } from "../packages/testing/src/docker-engine.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const REPORT = "reports/vitest.json";

const CHECKS = [
  { name: "format and lint", argv: ["biome", "check", "."] },
  { name: "types", argv: ["turbo", "run", "typecheck", "typecheck:house", "--output-logs=errors-only"] },
  { name: "boundaries", argv: ["node", "tooling/boundaries/check.mjs"] },
  { name: "unused", argv: ["knip"] },
  { name: "API description", argv: ["node", "tooling/openapi/write.ts", "--check"] },
  { name: "pages from tables", argv: ["node", "tooling/docs/write.ts", "--check"] },
  { name: "tests", argv: ["node", "tooling/vitest/run.mjs", ...process.argv.slice(2)] },
];

rmSync(join(root, "reports"), { recursive: true, force: true });
mkdirSync(join(root, "reports"), { recursive: true });

const problem = dockerProblem();
console.log(
  problem === undefined ? "Docker suites run on this machine's engine" : `Docker suites are skipped: ${problem}`,
);

const failed = [];
for (const { name, argv } of CHECKS) {
  const startedAt = Date.now();
  console.log(`\n── ${name}`);
  const [program, ...args] = argv;
  const { status } = spawnSync(program, args, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
  });
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(status === 0 ? `✓ ${name} (${seconds} s)` : `✗ ${name} (${seconds} s)`);
  if (status !== 0) failed.push(name);
}

const report = join(root, REPORT);
if (existsSync(report)) {
  const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(readFileSync(report, "utf8"));
  console.log(`\n${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
}
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(", ")}`);
  process.exit(1);
}
console.log("\nAll checks passed");
