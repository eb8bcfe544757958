import { describe } from "vitest";

declare module "vitest" {
  interface TaskMeta {
    /** The reason why the suite is skipped, printed at the end of the run. */
    skipReason?: string;
  }
}

/**
 * Why the largest suites are left out, for the end of the run; `undefined` while there is time for them. A run with a
 * time limit sets `BERTH_TEST_LATE_AT` to the second since 1970 from which it starts none of them: on a slow machine
 * it then finishes what is left, where it would finish nothing.
 */
export function lateReason(): string | undefined {
  const lateAt = Number(process.env.BERTH_TEST_LATE_AT ?? Number.POSITIVE_INFINITY);
  if (Date.now() / 1000 < lateAt) return undefined;
  return "the machine is too slow to try the largest matrices within the run's time limit";
}

/** A suite that tries a large matrix. Such suites run last, and are left out when the run is late. */
export const describeLarge = (name: string, suite: () => void): void => describeUnless(lateReason(), name, suite);

/** @param problem Skips the suite, and is named at the end of the run. */
export function describeUnless(problem: string | undefined, name: string, suite: () => void): void {
  const meta = problem === undefined ? {} : { skipReason: problem };
  describe.skipIf(problem !== undefined)(name, { meta }, suite);
}
