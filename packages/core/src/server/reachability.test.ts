import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reachabilityAfter } from "./reachability.ts";

/** `.` is a success, `x` a failure. */
const after = (outcomes: string, is_reachable = true) =>
  [...outcomes].reduce((state, outcome) => reachabilityAfter(state, outcome === "."), {
    probes: 0,
    unreachable_count: 0,
    is_reachable,
  });

describe("a server's reachability", () => {
  test.each([
    ["", true, 0],
    ["x", true, 1],
    ["xx", true, 2],
    ["xxx", false, 3],
    ["x.x.x", false, 3],
    ["xx..x", false, 3],
    ["xx...x", true, 2],
    ["x..x..x", true, 2],
    ["xxxxxxx", false, 5],
    ["xxx.", true, 0],
    ["xxx.xx", true, 2],
    ["xxx.xxx", false, 3],
    [".....", true, 0],
  ])("after %s is %s with %i failures", (outcomes, is_reachable, unreachable_count) => {
    expect(after(outcomes)).toMatchObject({ is_reachable, unreachable_count });
  });

  test("comes back with the first answer", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[.x]{0,20}$/), (outcomes) => {
        expect(after(`${outcomes}.`, false)).toMatchObject({ is_reachable: true });
      }),
    );
  });

  test("is lost with three failures of five only", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[.x]{0,20}$/), (outcomes) => {
        const before = after(outcomes);
        const now = reachabilityAfter(before, false);
        if (before.is_reachable && !now.is_reachable) {
          expect([...outcomes.slice(-4)].filter((outcome) => outcome === "x").length).toBeGreaterThanOrEqual(2);
        }
      }),
    );
  });
});
