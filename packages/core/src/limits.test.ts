import { describe, expect, test } from "vitest";
import { limitProblems } from "./limits.ts";

describe("limits", () => {
  test.each([["0"], ["512m"], ["1.5g"], ["1073741824"], ["64K"], ["10b"]])("of memory may be %s", (limits_memory) => {
    expect(limitProblems({ limits_memory })).toEqual({});
  });
  test.each([["-1"], ["much"], ["1 g"], ["1gg"], ["m"]])("of memory may not be %s", (limits_memory) => {
    expect(Object.keys(limitProblems({ limits_memory }))).toEqual(["limits_memory"]);
  });
  test("of swap may be -1, which means all of it", () => {
    expect(limitProblems({ limits_memory_swap: "-1" })).toEqual({});
  });
  test.each([
    ["", true],
    ["0", true],
    ["0-2,4", true],
    ["7,3-3,8191", true],
    ["2-1", false],
    ["0,", false],
    ["0-", false],
    ["-1", false],
    ["0 - 2", false],
    ["all", false],
    ["8192", false],
  ])("of which processors: %j", (limits_cpuset, isFine) => {
    expect(Object.keys(limitProblems({ limits_cpuset }))).toEqual(isFine ? [] : ["limits_cpuset"]);
  });
  test.each([
    ["0", true],
    ["0.5", true],
    ["64", true],
    ["-1", false],
    ["half", false],
    ["1,5", false],
  ])("of processors: %s", (limits_cpus, isFine) => {
    expect(Object.keys(limitProblems({ limits_cpus }))).toEqual(isFine ? [] : ["limits_cpus"]);
  });
});
