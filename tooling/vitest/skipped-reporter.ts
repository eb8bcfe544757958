import type { Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

/** Lists skipped tests with reasons at the end, one line each: a suite as a whole where all of it was skipped. */
export default class SkippedReporter implements Reporter {
  #isWhole = true;

  onInit(vitest: Vitest): void {
    // A run selected by test names skips all others on purpose.
    this.#isWhole = vitest.config.testNamePattern === undefined;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (!this.#isWhole) return;
    for (const module of modules) {
      for (const task of module.children) report(module, task);
    }
  }
}

function report(module: TestModule, task: TestSuite | TestCase): void {
  const tests = task.type === "test" ? [task] : [...task.children.allTests()];
  const reasons = new Set(tests.map(reasonOf));
  const [reason] = reasons;
  if (reasons.size === 1 && reason !== undefined) {
    console.log(`Skipped: ${module.project.name} ${module.relativeModuleId} > ${task.fullName}: ${reason}`);
    return;
  }
  if (task.type === "suite") for (const child of task.children) report(module, child);
}

/** `undefined` for a test that ran. */
function reasonOf(test: TestCase): string | undefined {
  const result = test.result();
  if (result.state !== "skipped") return undefined;
  const { skipReason } = test.meta();
  return result.note ?? skipReason ?? "its condition does not hold here";
}

declare module "vitest" {
  interface TaskMeta {
    /** Set by suites that know why they are skipped. */
    skipReason?: string;
  }
}
