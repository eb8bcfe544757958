import { describe, expect, test } from "vitest";
import { ProjectDescription, ProjectName, ResourceDescription, ResourceName } from "./name.ts";

describe("names", () => {
  test.each([
    ["  My project ", "My project"],
    ["<b>Shop</b> & more", "Shop & more"],
    ["a(b)#c,d:+e", "a(b)#c,d:+e"],
    ["Größe_1.0 @x/y", "Größe_1.0 @x/y"],
  ])("of a project may be %j", (sent, kept) => {
    expect(ProjectName.parse(sent)).toBe(kept);
  });

  test.each([["ab"], ["<b>a</b>"], ["a;b;c"], ["a$b$c"], ["x".repeat(256)], [7], [null]])(
    "of a project may not be %j",
    (sent) => {
      expect(ProjectName.safeParse(sent).success).toBe(false);
    },
  );

  test("of a resource may be anything but empty", () => {
    expect(ResourceName.parse("日本 $x")).toBe("日本 $x");
    expect(ResourceName.safeParse("  ").success).toBe(false);
  });

  test("with an empty description have none", () => {
    expect([ProjectDescription.parse(""), ResourceDescription.parse(" ")]).toEqual([null, null]);
    expect(ProjectDescription.safeParse("`id`").success).toBe(false);
  });
});
