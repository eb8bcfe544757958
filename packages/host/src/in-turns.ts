import { setImmediate as otherWork } from "node:timers/promises";

/** The result of work that is done in steps. Others are served between two of them. */
export async function inTurns<T>(steps: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await otherWork();
  }
}
