import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { liveness } from "./liveness.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("silence is reported after four intervals, and not where something is heard", () => {
  const asked = vi.fn();
  const onSilence = vi.fn();
  const answers = liveness({ intervalSeconds: 10, ask: asked, onSilence });
  answers.start();
  for (let n = 0; n < 100; n++) {
    vi.advanceTimersByTime(30_000);
    answers.heard();
  }
  expect([asked.mock.calls.length, onSilence.mock.calls.length]).toEqual([300, 0]);
  vi.advanceTimersByTime(40_000);
  expect(onSilence).toHaveBeenCalledTimes(1);
});

test("silence is not excused by what is started meanwhile", () => {
  const onSilence = vi.fn();
  const answers = liveness({ intervalSeconds: 10, ask: () => {}, onSilence });
  for (let n = 0; n < 8; n++) {
    answers.start();
    vi.advanceTimersByTime(5000);
  }
  expect(onSilence).toHaveBeenCalledTimes(1);
});

test("nothing is asked of what nobody waits for, and it starts anew without a fault of the past", () => {
  const asked = vi.fn();
  const onSilence = vi.fn();
  const answers = liveness({ intervalSeconds: 10, ask: asked, onSilence });
  answers.start();
  vi.advanceTimersByTime(30_000);
  answers.stop();
  vi.advanceTimersByTime(1_000_000);
  expect(asked).toHaveBeenCalledTimes(3);
  answers.start();
  vi.advanceTimersByTime(39_000);
  expect(onSilence).not.toHaveBeenCalled();
});
