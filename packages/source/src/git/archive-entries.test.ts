import { DomainError } from "@berth/core";
import { cpuCost } from "@berth/core/testing";
import { describe, expect, test } from "vitest";
import { type ArchiveEntry, entryChecker } from "./archive-entries.ts";

const LIMITS = { entries: 10, unpackedBytes: 1000 };

const file = (path: string, size = 1): ArchiveEntry => ({ type: "File", path, size });
const folder = (path: string): ArchiveEntry => ({ type: "Directory", path, size: 0 });
const link = (path: string, linkpath: string): ArchiveEntry => ({ type: "SymbolicLink", path, linkpath, size: 0 });
const hard = (path: string, linkpath: string): ArchiveEntry => ({ type: "Link", path, linkpath, size: 0 });

function judge(entries: Iterable<ArchiveEntry>, limits = LIMITS): string {
  try {
    const checker = entryChecker(limits);
    for (const entry of entries) checker.accept(entry);
    checker.finish();
    return "accepted";
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return `${error.code} ${error.message}`;
  }
}

describe("an archive is accepted", () => {
  test.each<[string, readonly ArchiveEntry[]]>([
    ["files and folders", [folder("./"), folder("./a/"), file("./a/b"), file("c")]],
    ["a link to a neighbour", [file("a"), link("b", "a"), link("d/e", "../a")]],
    ["a link to its own folder", [link("a/b", "."), link("a/c", ".."), link("d", ".")]],
    ["a link into nothing", [link("a", "none/at/all")]],
    ["links in a circle", [link("a", "b"), link("b", "a")]],
    ["a link through another that stays inside", [link("x", "d/e"), link("y", "x/../z")]],
    ["a hard link to a file before it", [file("a"), hard("b", "a")]],
    ["the same file twice", [file("a"), file("a")]],
    ["names that only look like a parent", [file("..a"), file("a.."), file("...")]],
  ])("with %s", (_what, entries) => {
    expect(judge(entries)).toBe("accepted");
  });
});

describe("an archive is refused", () => {
  test.each<[string, readonly ArchiveEntry[], string]>([
    ["nothing", [], "contains no files"],
    ["an absolute path", [file("/etc/x")], 'The entry "/etc/x" has an absolute path'],
    ["a parent in a path", [file("a/../../x")], "has .. in its path"],
    ["a NUL byte", [file("a\0b")], "NUL byte"],
    ["a very long path", [file("a".repeat(5000))], "too long"],
    ["a file without a name", [file("./")], "has no name"],
    ["an absolute link", [link("a", "/etc")], "leaves the folder: /etc"],
    ["a link to a parent", [link("a", "..")], "leaves the folder"],
    ["a link that passes a parent", [link("d/a", "../../x/d")], "leaves the folder"],
    [
      "a link that leaves through another",
      [link("d/up", ".."), link("a", "d/up/../x")],
      '"a" is a symbolic link that leaves',
    ],
    ["the same in the other order", [link("a", "d/up/../x"), link("d/up", "..")], '"a" is a symbolic link that leaves'],
    ["a link without target", [link("a", "")], "to nothing"],
    ["a file behind a link", [link("a", "b"), file("a/x")], "behind a symbolic link"],
    ["a folder behind a link, far", [link("a", "b"), file("a/x/y/z")], "behind a symbolic link"],
    ["a link over a folder with files", [file("a/x"), link("a", "b")], "a folder and a symbolic link at once"],
    ["a link over a folder", [folder("a"), link("a", "b")], "a folder and a symbolic link at once"],
    ["a folder over a link", [link("a", "b"), folder("a")], "a folder and a symbolic link at once"],
    ["a file over a link", [link("a", "b"), file("a")], "a file and a symbolic link at once"],
    ["a hard link to what is elsewhere", [hard("a", "/etc/passwd")], "absolute path"],
    ["a hard link to a parent", [hard("a", "../x")], "has .. in its path"],
    ["a hard link to nothing", [hard("a", "b")], "hard link whose target is not in the archive"],
    [
      "a hard link to a symbolic link",
      [link("b", "c"), hard("a", "b")],
      "hard link whose target is not in the archive",
    ],
    [
      "a hard link to a file that became a link",
      [file("b"), link("b", "c"), hard("a", "b")],
      "hard link whose target is not in the archive",
    ],
    [
      "a device",
      [{ type: "CharacterDevice", path: "null", size: 0 }],
      "neither file, folder nor link (CharacterDevice)",
    ],
    ["a pipe", [{ type: "FIFO", path: "pipe", size: 0 }], "neither file, folder nor link (FIFO)"],
    ["too many entries", Array.from({ length: 11 }, (_, index) => file(`f${index}`)), "request.too_large"],
    ["too many bytes", [file("a", 600), file("b", 600)], "request.too_large"],
  ])("with %s", (_what, entries, text) => {
    const judged = judge(entries);
    expect(judged).toMatch(/^(source\.invalid|request\.too_large) /);
    expect(judged).toContain(text);
  });

  test("in words without control characters, and few", () => {
    expect(judge([file(`a\u001b[31m${"x".repeat(3000)}/../b`)])).toMatch(
      /^source\.invalid The entry "a\?\[31mx{100,200}\.\.\./,
    );
  });
});

test("following links never misses the way out", () => {
  const links = [link("a", "b/c"), link("b", "d"), link("d/c", "..")];
  expect(judge(links)).toBe("accepted");
  expect(judge([...links, link("e", "a/..")])).toContain('"e" is a symbolic link that leaves the folder: a/..');
  expect(judge([link("e", "a/.."), ...links])).toContain('"e" is a symbolic link that leaves the folder: a/..');
});

describe("a small archive cannot take much memory or time", () => {
  const SERVICE_LIMITS = { entries: 200_000, unpackedBytes: 2 ** 32 };
  const numbered = (count: number, entry: (index: number) => ArchiveEntry) =>
    (function* () {
      for (let index = 0; index < count; index++) yield entry(index);
    })();
  const judgedFast = (entries: Iterable<ArchiveEntry>) => {
    const memory = process.memoryUsage().heapUsed;
    let judged: unknown;
    const cost = cpuCost(() => {
      judged = judge(entries, SERVICE_LIMITS);
    });
    expect(cost).toBeLessThan(100);
    expect(process.memoryUsage().heapUsed - memory).toBeLessThan(300 << 20);
    return judged;
  };

  test("with paths of very many folders", () => {
    const deep = numbered(600, (index) => file(`${index}/${"d/".repeat(2000)}f`));
    expect(judgedFast(deep)).toContain("more than 128 folders deep");
  });

  test("with very many folders", () => {
    const deep = numbered(100_000, (index) => file(`${index}/${"d/".repeat(120)}f`));
    expect(judgedFast(deep)).toContain("more than 200000 folders");
  });

  test("with very long names", () => {
    const long = numbered(100_000, (index) => file(`${index}${"n".repeat(4000)}`));
    expect(judgedFast(long)).toMatch(/^request.too_large .* characters of file names/);
  });

  test("with very many links", () => {
    expect(judgedFast(numbered(20_000, (index) => link(`l${index}`, "f")))).toContain("more than 10000 symbolic links");
  });

  test("with links through links", () => {
    const chain = (size: number) => numbered(size, (index) => link(`l${index}`, `l${index + 1}`));
    expect(judgedFast(chain(39))).toBe("accepted");
    expect(judgedFast(chain(9000))).toContain("through more than 40 others");
  });

  test("with links that each pass many links", () => {
    const passing = numbered(9000, (index) =>
      link(`${"d/".repeat(100)}l${index}`, `l${(index * 7) % 9000}/./../`.repeat(2)),
    );
    expect(judgedFast(passing)).toMatch(/^(accepted|source\.invalid)/);
  });

  test("with a link again and again", () => {
    const paths = numbered(100_000, (index) => link("a", `b${index}`));
    expect(judgedFast(paths)).toBe("accepted");
  });
});
