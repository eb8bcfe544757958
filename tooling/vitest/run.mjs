// Runs all tests, as `npm test` does. Failures get a second attempt, in case the machine was busy, and are listed at
// the end: each is a defect, of the test or of the product. vitest repeats single tests; a file that failed outside of
// its tests is run again here.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { relative } from "node:path";

/** They print at the end, in this order. */
const OURS = ["times", "flaky", "skipped"].map((name) => `./tooling/vitest/${name}-reporter.ts`);
const REPORT = "reports/vitest.json";
const SECOND_REPORT = "reports/vitest-second.json";
/** More failed files than this are not caused by a busy machine. */
const FILES_MAX = 3;

const given = process.argv.slice(2);
process.exitCode = runTests();

function runTests() {
  const status = vitest(REPORT);
  const report = read(REPORT);
  const files = status === 0 || report === undefined ? [] : disturbedFiles(report);
  if (files.length === 0 || files.length > FILES_MAX) return status;
  const names = files.map((file) => relative(process.cwd(), file));
  console.log(`\nWhat stands around the tests failed; a second try of ${names.join(", ")}`);
  const again = vitest(SECOND_REPORT, names);
  const second = read(SECOND_REPORT);
  if (second !== undefined) writeFileSync(REPORT, JSON.stringify(merged(report, second)));
  if (again === 0) for (const name of names) console.log(`Passed only on a second try: ${name}, as a whole`);
  return again;
}

function vitest(outputFile, files = []) {
  const reporters = ["default", "json", ...OURS];
  const flags = ["--retry=1", ...reporters.map((name) => `--reporter=${name}`), `--outputFile.json=${outputFile}`];
  return spawnSync("vitest", ["run", ...given, ...flags, ...files], { stdio: "inherit" }).status ?? 1;
}

function read(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : undefined;
}

/** Files that failed outside of their tests; empty when a test failed, which vitest has already repeated. */
function disturbedFiles({ testResults }) {
  const failed = testResults.filter(({ status }) => status === "failed");
  const isTests = failed.some(({ assertionResults }) => assertionResults.some(({ status }) => status === "failed"));
  return isTests ? [] : failed.map(({ name }) => name);
}

/** Replaces a file's first result by its second. */
function merged(first, second) {
  const again = new Set(second.testResults.map(({ name }) => name));
  const testResults = [...first.testResults.filter(({ name }) => !again.has(name)), ...second.testResults];
  const all = testResults.flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status));
  const count = (...wanted) => all.filter((status) => wanted.includes(status)).length;
  return {
    ...first,
    testResults,
    success: second.success,
    numTotalTests: all.length,
    numPassedTests: count("passed"),
    numFailedTests: count("failed"),
    numPendingTests: count("skipped", "pending", "disabled"),
  };
}
