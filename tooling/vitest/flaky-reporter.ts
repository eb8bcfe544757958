import type { Reporter, TestCase } from "vitest/node";

/** Lists tests that passed only at their second attempt: each of them is a defect, of the test or of the product. */
export default class FlakyReporter implements Reporter {
  readonly #names: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestRunEnd(): void {
    for (const name of this.#names) console.log(`Passed only on a second try: ${name}`);
  }
}
