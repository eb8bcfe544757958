import { describe } from "vitest";
import { lateReason } from "./late.ts";

declare module "vitest" {
  interface TaskMeta {
    /** The reason why the suite is skipped, printed at the end of the run. */
    skipReason?: string;
  }
}

/** A suite that tries a large matrix. Such suites run last, and are left out when the run is late. */
export const describeLarge = (name: string, suite: () => void): void => describeUnless(lateReason(), name, suite);

/** @param problem Skips the suite, and is named at the end of the run. */
export function describeUnless(problem: string | undefined, name: string, suite: () => void): void {
  const meta = problem === undefined ? {} : { skipReason: problem };
  describe.skipIf(problem !== undefined)(name, { meta }, suite);
}
