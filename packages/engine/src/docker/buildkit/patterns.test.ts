import { isMoment } from "@berth/core/testing";
import { describe, expect, test } from "vitest";
import { patternsOf } from "./patterns.ts";

/** The result for a path when a walk visits the folders above it first. */
function matches(patterns: readonly string[], path: string): boolean {
  const set = patternsOf(patterns);
  const names = path.split("/");
  let found: ReturnType<typeof set.match> | undefined;
  for (const [index] of names.entries()) found = set.match(names.slice(0, index + 1).join("/"), found);
  return found?.isMatch ?? false;
}

describe("patterns of a .dockerignore", () => {
  // From the tests of github.com/moby/patternmatcher.
  test.each([
    ["**", "file", true],
    ["**/", "file", true],
    ["**", "dir/file", true],
    ["**/**", "dir/file", true],
    ["dir/**", "dir/file", true],
    ["dir/**", "dir/dir2/file", true],
    ["**/dir2/*", "dir/dir2/file", true],
    ["**/dir2/*", "dir/dir2/dir2/file", true],
    ["**/file", "dir/file", true],
    ["**/file", "file", true],
    ["**/f*", "dir/file", true],
    ["a**", "ab/cd", true],
    ["a**/b", "b", false],
    ["*.go", "a.go", true],
    ["*.go", "d/a.go", false],
    ["a/*/b", "a/x/b", true],
    ["a/*/b", "a/x/y/b", false],
    ["abc.def", "abcdef", false],
    ["abc.def", "abcZdef", false],
    ["abc?def", "abcZdef", true],
    ["a\\*b", "a*b", true],
    ["a\\*b", "axb", false],
    ["[a-c]x", "bx", true],
    ["[^a-c]x", "bx", false],
    ["[\\-a]x", "-x", true],
    ["a+b (1)", "a+b (1)", true],
    ["dir", "dir/deep/file", true],
    ["./dir/", "dir/file", true],
    ["a/../b", "b", true],
    ["ü?", "üß", true],
    ["**/.foo", "bar/.foo", true],
    ["  a b  ", "a b", true],
  ])("%j of %j: %s", (pattern, path, expected) => {
    expect(matches([pattern], path)).toBe(expected);
  });

  test.each([
    [["**", "!util/docker/web"], "util/docker/web/foo", false],
    [["**", "!util/docker/web", "util/docker/web/foo"], "util/docker/web/foo", true],
    [["*", "!src", "src/secret"], "src/a", false],
    [["*", "!src", "src/secret"], "src/secret/key", true],
    [["docs", "!docs/README.md"], "docs/README.md", false],
    [["docs", "!docs/README.md"], "docs/other", true],
    [["!docs", "docs"], "docs/a", true],
  ])("%j of %j: %s", (patterns, path, expected) => {
    expect(matches(patterns, path)).toBe(expected);
  });

  const LONG = "x".repeat(60);
  test.each([
    ["*a*b*c*d", `${LONG}a${LONG}bc${LONG}d`, true],
    ["*a*b*c*d", `${LONG}a${LONG}/bc${LONG}d`, false],
    ["**/*a*/**/[b-c]?*", `${LONG}/${LONG}a/${LONG}/${LONG}/cx${LONG}`, true],
    ["**/*a*/**/[^b-c]?*", `${LONG}/${LONG}a/cx${LONG}`, false],
    ["*\\**ü*ü*", `${LONG}*${LONG}ü${LONG}ü`, true],
    ["a**/b*c*d", `a${LONG}/${LONG}/b${LONG}c${LONG}d`, true],
    ["a**/b*c*d", `a${LONG}b${LONG}c${LONG}d`, false],
  ])("%j of the long %j: %s", (pattern, path, expected) => {
    expect(matches([pattern], path)).toBe(expected);
  });

  test.each([
    [`${"*a".repeat(8)}*b`, "a".repeat(200)],
    [`${"**/a/".repeat(8)}b`, "a/".repeat(300)],
  ])("%j is compared in a moment", (pattern, path) => {
    expect(isMoment(() => patternsOf([pattern]).match(path, undefined))).toBe(true);
  });

  test("patterns that would hold up everybody are refused", () => {
    const pattern = "**a".repeat(1000);
    expect(() => patternsOf([pattern]).match("a".repeat(4000), undefined)).toThrow("has too many wildcards");
  });

  test.each([["[a"], ["!"], ["[]a]"]])("%j is none", (pattern) => {
    expect(() => patternsOf([pattern])).toThrow("is not a pattern");
  });

  test.each([
    [["docs"], "docs", false],
    [["docs", "!docs/a"], "docs", true],
    [["docs", "!other/a"], "docs", false],
    [["docs", "!docs/a/b"], "docs/a", true],
    [["docs", "!docs/a/b"], "docs/c", false],
    [["docs", "!**/a"], "docs", true],
  ])("%j leave something in %s: %s", (patterns, folder, expected) => {
    const set = patternsOf(patterns);
    expect(set.mayTurnBelow(folder, { isMatch: true, each: [] })).toBe(expected);
  });
});
