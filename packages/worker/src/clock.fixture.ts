import type { Clock } from "@berth/core/ports";

export interface TestClock extends Clock {
  set(time: Date | string): void;
}

/** A clock that changes only when it is set. */
export function testClock(time: Date | string): TestClock {
  let now = new Date(time);
  return {
    now: () => now,
    set: (to) => {
      now = new Date(to);
    },
  };
}
