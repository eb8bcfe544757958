import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuCost, isMoment } from "../cpu-cost.fixture.ts";
import { isWatched, watchEffort } from "./watch-paths.ts";

const watched = (globs: string, ...paths: string[]) => isWatched(globs, paths);

describe("a glob of watch_paths", () => {
  test.each<[glob: string, path: string, isMatch: boolean]>([
    ["README.md", "README.md", true],
    ["README.md", "docs/README.md", false],
    ["README.md", "README.md.bak", false],
    ["*.md", "README.md", true],
    ["*.md", "docs/a.md", false],
    ["*", "a", true],
    ["*", "a/b", false],
    ["src/*", "src/a.ts", true],
    ["src/*", "src/a/b.ts", false],
    ["src/*/b.ts", "src/a/b.ts", true],
    ["**", "a/b/c", true],
    ["src/**", "src/a/b/c.ts", true],
    ["src/**", "src", false],
    ["src/**", "other/src/a", false],
    ["src/**", "srcs/a", false],
    ["src/", "src/a/b", true],
    ["/src/**", "src/a", true],
    ["./src/**", "src/a", true],
    ["**/x.ts", "x.ts", true],
    ["**/x.ts", "a/b/x.ts", true],
    ["**/x.ts", "a/bx.ts", false],
    ["a/**/z", "a/z", true],
    ["a/**/z", "a/b/c/z", true],
    ["a/**/z", "a/bz", false],
    ["a/**/z", "az", false],
    ["a/**/b/**/c", "a/x/b/y/z/c", true],
    ["**/*.ts", "a/b/c.ts", true],
    ["a**z", "a/b/z", true],
    ["?.ts", "a.ts", true],
    ["?.ts", "/.ts", false],
    ["?.ts", "ab.ts", false],
    ["?", "💥", true],
    ["[ab].ts", "b.ts", true],
    ["[ab].ts", "c.ts", false],
    ["[a-c]x", "bx", true],
    ["[!a-c]x", "bx", false],
    ["[!a-c]x", "dx", true],
    ["[^a]x", "bx", true],
    ["a[!b]c", "a/c", false],
    ["[]]", "]", true],
    ["[ab", "[ab", true],
    ["a.b", "axb", false],
    ["a(b)|c+", "a(b)|c+", true],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a b/c", "a b/c", true],
  ])("%s and the file %s: %s", (glob, path, isMatch) => {
    expect(watched(glob, path)).toBe(isMatch);
  });
});

describe("watch_paths", () => {
  test.each([[null], [""], ["\n  \n"]])("that are blank watch everything: %j", (globs) => {
    expect(isWatched(globs, [])).toBe(true);
    expect(isWatched(globs, ["a"])).toBe(true);
  });

  test("watch what nobody knows the files of", () => {
    expect(isWatched("src/**", undefined)).toBe(true);
  });

  test("watch no push that changed no file", () => {
    expect(isWatched("src/**", [])).toBe(false);
  });

  test("are one a line, and one file of the push is enough", () => {
    expect(watched("src/**\r\n  package.json \n", "docs/a.md", "package.json")).toBe(true);
    expect(watched("src/**\npackage.json", "docs/a.md", "README.md")).toBe(false);
  });

  test("leave out what a later ! line names, and take back what one behind it names", () => {
    const globs = "src/**\n!src/**/*.md\nsrc/important.md";
    expect(watched(globs, "src/a.ts")).toBe(true);
    expect(watched(globs, "src/a.md")).toBe(false);
    expect(watched(globs, "src/important.md")).toBe(true);
    expect(watched("!src/a.md\nsrc/**", "src/a.md")).toBe(true);
  });

  test("that only leave out watch all the rest", () => {
    expect(watched("!docs/**\n!*.md", "src/a.ts")).toBe(true);
    expect(watched("!docs/**\n!*.md", "docs/a", "README.md")).toBe(false);
  });

  test.each([
    ["runs", `${"*a".repeat(400)}b`, "a".repeat(400)],
    ["folders", `${"**/".repeat(400)}b`, "a/".repeat(400)],
    ["open brackets", `${"[".repeat(9000)}*`, "[".repeat(1000)],
    ["letters", "a".repeat(10_000), "a".repeat(4000)],
  ])("decide at once about a glob made to be slow: %s", (_, slow, path) => {
    const cost = cpuCost(() => {
      expect(watched(slow, path)).toBe(false);
      expect(isWatched(slow, [...Array<string>(5000).fill(path), "b"])).toBe(true);
    });
    expect(cost).toBeLessThan(20);
  });

  test("take a moment for all files and applications of a push", () => {
    const files = Array.from({ length: 50_000 }, (_, at) => `src/some/folder/that/is/deep/file-${at}.ts`);
    const decided = () => {
      const effort = watchEffort();
      expect(isWatched("src/**/*.md", files.slice(0, 500), effort)).toBe(false);
      for (let at = 0; at < 100; at += 1) isWatched("**/**/a*b*c*\n!src/**", files, effort);
    };
    expect(isMoment(decided)).toBe(true);
  });

  test("take no longer for many applications than for one", () => {
    const [slow, files] = [`${"*a".repeat(400)}b`, [`${"a".repeat(400)}`]];
    const effort = watchEffort();
    const answers = Array.from({ length: 1000 }, () => isWatched(slow, files, effort));
    // A path that is not decided within the effort limit counts as watched.
    expect([answers[0], answers.at(-1)]).toEqual([false, true]);
    expect(effort.stepsLeft).toBeGreaterThan(-10_000);
  });
});

describe("for any paths", () => {
  const segment = fc.stringMatching(/^[a-z.]{1,4}$/);
  const path = fc.array(segment, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));

  test("a path watches itself and nothing else", () => {
    fc.assert(
      fc.property(path, path, (one, other) => {
        expect(watched(one.replaceAll("*", "\\*"), other)).toBe(one.replace(/^\.?\/+/, "") === other);
      }),
    );
  });

  test("** watches each of them, and !** none", () => {
    fc.assert(
      fc.property(fc.array(path, { minLength: 1 }), (paths) => {
        expect(isWatched("**", paths)).toBe(true);
        expect(isWatched("**/*", paths)).toBe(true);
        expect(isWatched("!**", paths)).toBe(false);
        expect(isWatched("**\n!**", paths)).toBe(false);
      }),
    );
  });

  test("a glob agrees with a regular expression that says the same", () => {
    const piece = fc.constantFrom("a", "b", "/", "*", "?", "x");
    const glob = fc
      .array(piece, { minLength: 1, maxLength: 8 })
      .map((pieces) => pieces.join("").replace(/\*+/g, "*"))
      .filter((text) => !text.startsWith("/") && !text.endsWith("/"));
    const file = fc.stringMatching(/^[abx/]{1,8}$/);
    fc.assert(
      fc.property(glob, file, (text, name) => {
        const expression = text.replaceAll("*", "[^/]*").replaceAll("?", "[^/]");
        expect(watched(text, name)).toBe(new RegExp(`^${expression}$`).test(name));
      }),
      { numRuns: 1000 },
    );
  });

  test("more files never unwatch a push", () => {
    const globs = fc.constantFrom("a/**", "!a/**", "*.b\n!x/**", "**/c\n!a");
    fc.assert(
      fc.property(globs, fc.array(path), path, (text, paths, more) => {
        expect(isWatched(text, [...paths, more])).toBe(isWatched(text, paths) || isWatched(text, [more]));
      }),
    );
  });
});
