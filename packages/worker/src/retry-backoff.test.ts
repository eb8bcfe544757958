import { expect, test } from "vitest";
import { retryBackoff } from "./retry-backoff.ts";

test("what fails again is tried after pauses that double up to a limit, until it succeeds", () => {
  let seconds = 0;
  const backoff = retryBackoff({ firstSeconds: 2, secondsMax: 10 }, () => seconds * 1000);
  expect(backoff.isResting("a")).toBe(false);
  expect(Array.from({ length: 5 }, () => backoff.failed("a"))).toEqual([2, 4, 8, 10, 10]);
  expect([backoff.isResting("a"), backoff.isResting("b")]).toEqual([true, false]);
  seconds = 10;
  expect(backoff.isResting("a")).toBe(false);
  backoff.failed("a");
  backoff.succeeded("a");
  expect(backoff.isResting("a")).toBe(false);
  expect(backoff.failed("a")).toBe(2);
});

test("what was not tried for long begins anew", () => {
  let seconds = 0;
  const backoff = retryBackoff({ firstSeconds: 2, secondsMax: 10 }, () => seconds * 1000);
  backoff.failed("a");
  seconds = 100;
  backoff.failed("b");
  expect(backoff.failed("a")).toBe(2);
});
