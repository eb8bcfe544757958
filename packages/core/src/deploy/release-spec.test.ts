import { describe, expect, test } from "vitest";
import { limitsOf, memoryBytes, portsOf } from "./release-spec.ts";

describe("limits and ports", () => {
  test.each<[string, number | null]>([
    ["0", null],
    ["", null],
    ["lots", null],
    ["-1", null],
    ["512", 512],
    ["512b", 512],
    ["1k", 1024],
    ["512m", 512 * 1024 ** 2],
    ["512M", 512 * 1024 ** 2],
    ["1.5g", 1.5 * 1024 ** 3],
    ["2Gi", 2 * 1024 ** 3],
    ["1gb", 1024 ** 3],
    ["1t", 1024 ** 4],
  ])("reads %s as a size", (text, bytes) => {
    expect(memoryBytes(text)).toBe(bytes);
  });

  test.each<[string, number | null]>([
    ["0", null],
    ["0.5", 0.5],
    ["2", 2],
    ["many", null],
  ])("reads %s processors", (text, cpus) => {
    expect(limitsOf({ limits_memory: "0", limits_cpus: text }).cpus).toBe(cpus);
  });

  test("reads the exposed ports in their order", () => {
    expect(portsOf("3000,80", true)).toEqual([3000, 80]);
    expect(portsOf(null, true)).toEqual([3000]);
    expect(portsOf(null, false)).toEqual([]);
  });
});
