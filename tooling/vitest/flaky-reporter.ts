import type { Reporter, TestCase } from "vitest/node";

/** Lists tests that passed only at their second attempt: each of them is a defect, of the test or of the product. */
export default class FlakyReporter implements Reporter {
  readonly #tests: TestCase[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#tests.push(test);
  }

  onTestRunEnd(): void {
    for (const test of this.#tests) {
      console.log(`Passed only on a second try: ${test.module.relativeModuleId} > ${test.fullName}`);
      // A test that has passed keeps the errors of its first try.
      for (const { message, diff, stack } of test.result().errors ?? []) {
        for (const text of [message, diff, ownFrames(stack)]) if (text) console.log(indented(text));
      }
    }
  }
}

const ownFrames = (stack: string | undefined) =>
  (stack ?? "")
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !line.includes("node_modules"))
    .join("\n");

const indented = (text: string) => text.slice(0, SHOWN_MAX).replace(/^/gm, "    ");

const SHOWN_MAX = 2_000;
