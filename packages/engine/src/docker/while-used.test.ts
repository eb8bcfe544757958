import { expect, test, vi } from "vitest";
import { whileUsed } from "./while-used.ts";

function world() {
  vi.useFakeTimers();
  const begun: AbortSignal[] = [];
  const used = whileUsed({ begin: (signal) => begun.push(signal), lingerSeconds: 60 });
  return { used, begun, isRunning: () => begun.at(-1)?.aborted === false, [Symbol.dispose]: () => vi.useRealTimers() };
}

test("runs once for all who use it at the same time, and a while longer than the last of them", () => {
  using place = world();
  const { used, begun, isRunning } = place;
  const ends = [used.use(), used.use()];
  ends[0]?.();
  ends[0]?.();
  vi.advanceTimersByTime(3_600_000);
  expect(isRunning()).toBe(true);
  ends[1]?.();
  vi.advanceTimersByTime(59_000);
  expect(isRunning()).toBe(true);
  vi.advanceTimersByTime(2_000);
  expect(isRunning()).toBe(false);
  expect(begun).toHaveLength(1);
});

test("keeps running while uses follow each other, and begins anew after its end", () => {
  using place = world();
  const { used, begun, isRunning } = place;
  for (let uses = 0; uses < 5; uses += 1) {
    used.use()();
    vi.advanceTimersByTime(50_000);
  }
  expect(begun).toHaveLength(1);
  vi.advanceTimersByTime(20_000);
  expect(isRunning()).toBe(false);
  used.use();
  expect(isRunning()).toBe(true);
  expect(begun).toHaveLength(2);
});

test("does not run after it was closed", () => {
  using place = world();
  const { used, begun, isRunning } = place;
  const end = used.use();
  used.close();
  end();
  used.use();
  expect(isRunning()).toBe(false);
  expect(begun).toHaveLength(1);
});
