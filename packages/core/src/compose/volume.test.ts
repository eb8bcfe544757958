import { describe, expect, test } from "vitest";
import { cpuCost } from "../cpu-cost.fixture.ts";
import { volumeProblem, volumesOf } from "./volume.ts";

describe("a volume in the short form", () => {
  test.each([
    ["data:/var/lib", { name: "data", hostPath: null, mountPath: "/var/lib", isReadOnly: false }],
    ["./conf:/etc/app:ro", { name: null, hostPath: "./conf", mountPath: "/etc/app", isReadOnly: true }],
    [`\${DATA:-./data}:/var/lib`, { name: null, hostPath: `\${DATA:-./data}`, mountPath: "/var/lib" }],
    ["/a::/b", { hostPath: "/a", mountPath: "/b" }],
  ])("%s is split at the colons outside of variables", (text, expected) => {
    expect(volumesOf([text])).toMatchObject([expected]);
  });

  test("of many variables that nothing closes is read at once", () => {
    const cost = cpuCost(() => {
      expect(volumeProblem(`${"${".repeat(400_000)}:/x`)).toMatch(/^source/);
      expect(volumesOf([`${`\${}`.repeat(300_000)}:/x`])).toMatchObject([{ mountPath: "/x" }]);
    });
    expect(cost).toBeLessThan(100);
  });
});
