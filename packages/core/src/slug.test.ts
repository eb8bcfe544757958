import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { slug } from "./slug.ts";

describe("a slug", () => {
  test.each([
    ["Hello World", "hello-world"],
    ["Crème Brûlée", "creme-brulee"],
    ["--a__b--", "a-b"],
    ["owner/repo:main", "owner-repo-main"],
    ["日本", ""],
  ])("of %s is %s", (text, expected) => {
    expect(slug(text)).toBe(expected);
  });

  test("is one label of a host name, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
        expect(slug(text)).toMatch(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$/);
      }),
    );
  });
});
