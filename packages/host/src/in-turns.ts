import { setImmediate as otherWork } from "node:timers/promises";

/** Runs steps to their result, and yields to the event loop between them. */
export async function inTurns<T>(steps: Generator<unknown, T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await otherWork();
  }
}
