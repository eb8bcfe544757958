import type { ReleaseState } from "@berth/core/deploy";
import { expect, test } from "vitest";
import { createRestarts } from "./restarts.ts";

const START = Date.UTC(2026, 0, 1);
let nowMs = START;
const release = (restartCount: number, ranSeconds = 1): ReleaseState => ({
  resourceUuid: "app",
  deploymentUuid: "d1",
  state: "running",
  upstream: null,
  restartCount,
  exitCode: 1,
  startedAt: new Date(nowMs - ranSeconds * 1000),
});

test("restarts are counted in a row: running for a while ends it", () => {
  const restarts = createRestarts({ now: () => new Date(nowMs) });
  const after = (...states: readonly ReleaseState[]) => {
    for (const state of states) restarts.seen(1, [state]);
    return restarts.now(1).get("d1");
  };
  expect(after(release(0))).toBe(0);
  expect(after(release(2), release(5))).toBe(5);
  expect(after(release(5, 601))).toBe(0);
  expect(after(release(7))).toBe(2);
});

test("what was counted before the first look, or before a stop, does not count", () => {
  const restarts = createRestarts({ now: () => new Date(nowMs) });
  restarts.seen(1, [release(40)]);
  expect(restarts.now(1).get("d1")).toBe(0);
  restarts.seen(1, [release(43)]);
  expect(restarts.now(1).get("d1")).toBe(3);
  restarts.seen(1, [release(0)]);
  expect(restarts.now(1).get("d1")).toBe(0);
});

test("one that is forgiven is counted anew, and one that is gone is forgotten", () => {
  nowMs = START;
  const restarts = createRestarts({ now: () => new Date(nowMs) });
  restarts.seen(1, [release(0)]);
  restarts.seen(1, [release(12)]);
  restarts.forgive("d1");
  restarts.seen(1, [release(12)]);
  expect(restarts.now(1).get("d1")).toBe(0);
  restarts.seen(2, []);
  expect(restarts.now(1).has("d1")).toBe(true);
  restarts.seen(1, []);
  expect(restarts.now(1).has("d1")).toBe(false);
});

test("one whose restarts are not known yet is counted from when they are", () => {
  nowMs = START;
  const restarts = createRestarts({ now: () => new Date(nowMs) });
  restarts.seen(1, [{ ...release(0), startedAt: null, isUncounted: true }]);
  expect(restarts.now(1).get("d1") ?? 0).toBe(0);
  restarts.seen(1, [release(40, 700)]);
  expect(restarts.now(1).get("d1")).toBe(0);
  restarts.seen(1, [release(42)]);
  expect(restarts.now(1).get("d1")).toBe(2);
});
