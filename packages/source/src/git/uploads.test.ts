import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { isDomainError } from "@berth/core";
import type { SourceFetcher } from "@berth/core/ports";
import { create } from "tar";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type SourceFetcherOptions, sourceFetcher } from "./fetcher.ts";
import { type RawEntry, rawTar, rawTarGz, streamOf } from "./tar.fixture.ts";
import { inspectTar } from "./unpack.ts";

let base: string;
let outside: string;
let source: SourceFetcher;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "berth-upload-"));
  outside = join(base, "outside");
  mkdirSync(outside);
  source = fetcher();
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const fetcher = (limits: SourceFetcherOptions["limits"] = {}) =>
  sourceFetcher({ folder: join(base, "sources"), allowFileProtocol: false, limits });
const io = { signal: new AbortController().signal, onLine: () => {} };
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const checkout = (commit: string) => source.checkout({ type: "upload", resourceUuid: "app1", commit }, "d1", io);
const uploads = () => readdirSync(join(base, "sources", "uploads", "app1"));

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isDomainError(error)) throw new Error("Expected a DomainError", { cause: error });
  return `${error.code} ${error.message}`;
}

describe("an upload", () => {
  test.each([
    ["tar", rawTar],
    ["tar.gz", rawTarGz],
  ])("as %s is kept under its SHA-256 and unpacked again", async (_what, pack) => {
    const bytes = pack([
      { path: "./", type: "Directory" },
      { path: "./a.txt", content: "hello" },
      { path: "b/c", content: "" },
    ]);
    const saved = await source.saveUpload("app1", streamOf(bytes, 7));
    expect(saved).toEqual({ commit: sha256(bytes), sizeBytes: bytes.length });
    for (const commit of ["HEAD", saved.commit]) {
      const found = await checkout(commit);
      expect(found).toMatchObject({ commit: saved.commit, message: null });
      expect(readFileSync(join(found.folder, "a.txt"), "utf8")).toBe("hello");
    }
  });

  test("made by a tar of this machine keeps contents, links and who may execute", async () => {
    const folder = join(base, "app");
    mkdirSync(join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "bin/run"), "#!/bin/sh\n");
    chmodSync(join(folder, "bin/run"), 0o4755);
    writeFileSync(join(folder, `${"long-name-".repeat(20)}.txt`), "x".repeat(100_000));
    await create({ cwd: folder, gzip: true, file: join(base, "app.tgz") }, ["."]);
    await source.saveUpload("app1", streamOf(readFileSync(join(base, "app.tgz"))));
    const { folder: checked } = await checkout("HEAD");
    expect(statSync(join(checked, "bin/run")).mode & 0o7777).toBe(0o755);
    expect(statSync(join(checked, "bin/run")).uid).toBe(process.getuid?.());
    expect(readFileSync(join(checked, `${"long-name-".repeat(20)}.txt`), "utf8")).toHaveLength(100_000);
  });

  test("becomes the newest at once, and the five newest are kept", async () => {
    const all: string[] = [];
    for (let index = 0; index < 7; index++) {
      const { commit } = await source.saveUpload("app1", streamOf(rawTar([{ path: "a", content: String(index) }])));
      all.push(commit);
      expect((await checkout("HEAD")).commit).toBe(commit);
    }
    expect(uploads().sort()).toEqual(["latest", ...all.slice(2).map((commit) => `${commit}.tar`)].sort());
    expect(await codeOf(checkout(all[0] ?? ""))).toContain("is no longer stored. Upload the folder again.");
  });

  test("that came before is the newest again", async () => {
    const [first, second] = [rawTar([{ path: "a", content: "1" }]), rawTar([{ path: "a", content: "2" }])];
    for (const bytes of [first, second, first]) await source.saveUpload("app1", streamOf(bytes));
    expect((await checkout("HEAD")).commit).toBe(sha256(first));
    expect(uploads()).toHaveLength(3);
  });

  test("is gone with its resource, twice", async () => {
    await source.saveUpload("app1", streamOf(rawTar([{ path: "a" }])));
    await source.removeResource("app1");
    await source.removeResource("app1");
    expect(existsSync(join(base, "sources", "uploads", "app1"))).toBe(false);
    expect(await codeOf(checkout("HEAD"))).toContain("source.not_found No folder has been uploaded yet");
  });

  test.each(["../../../etc/passwd", "latest", "-x", "a/b", "HEAD~1"])("is not found by the name %j", async (commit) => {
    await source.saveUpload("app1", streamOf(rawTar([{ path: "a" }])));
    expect(await codeOf(checkout(commit))).toMatch(/^source\.not_found /);
  });

  test.each(["..", "../x", "a/b", "", ".hidden", "a\0"])("belongs to no resource called %j", async (uuid) => {
    expect(await codeOf(source.saveUpload(uuid, streamOf(rawTar([{ path: "a" }]))))).toMatch(/^source\.invalid /);
    expect(await codeOf(source.checkout({ type: "none" }, uuid, io))).toMatch(/^source\.invalid /);
  });
});

describe("an upload is refused and nothing of it kept", () => {
  test.each<[string, Uint8Array, string]>([
    ["nothing", Buffer.alloc(0), "source.invalid"],
    ["text", Buffer.from("hello world ".repeat(100)), "source.invalid The archive is damaged or not a tar"],
    ["a zip", Buffer.from("PK\x03\x04".padEnd(2000, "x")), "source.invalid The archive is damaged or not a tar"],
    ["a gzip of text", gzipSync("hello world ".repeat(100)), "source.invalid The archive is damaged or not a tar"],
    ["a gzip cut short", rawTarGz([{ path: "a", content: "x".repeat(9000) }]).subarray(0, 60), "source.invalid"],
    ["a tar cut short", rawTar([{ path: "a", content: "x".repeat(9000) }]).subarray(0, 3000), "source.invalid"],
    ["no entries", Buffer.alloc(1024), "source.invalid"],
    ["a gzip inside a gzip", gzipSync(rawTarGz([{ path: "a" }])), "source.invalid"],
  ])("when it is %s", async (_what, bytes, text) => {
    expect(await codeOf(source.saveUpload("app1", streamOf(bytes)))).toContain(text);
    expect(uploads()).toEqual([]);
  });

  test("when it is too large, sent or unpacked, however small it was packed", async () => {
    const zeros = rawTarGz([{ path: "a", content: "\0".repeat(3_000_000) }]);
    expect(zeros.length).toBeLessThan(10_000);
    const sent = await codeOf(fetcher({ uploadBytes: 1000 }).saveUpload("app1", streamOf(zeros)));
    const unpacked = await codeOf(fetcher({ unpackedBytes: 1_000_000 }).saveUpload("app1", streamOf(zeros)));
    const entries = Array.from({ length: 50 }, (_, index) => ({ path: `f${index}` }));
    const many = await codeOf(fetcher({ entries: 49 }).saveUpload("app1", streamOf(rawTar(entries))));
    // The header states a small size, but far more bytes follow.
    const bomb = gzipSync(Buffer.concat([rawTar([{ path: "a" }]), Buffer.alloc(5_000_000)]));
    const trailing = await codeOf(fetcher({ unpackedBytes: 1000, entries: 10 }).saveUpload("app1", streamOf(bomb)));
    for (const code of [sent, unpacked, many, trailing]) expect(code).toMatch(/^request\.too_large /);
    expect(uploads()).toEqual([]);
  });

  test("when it holds nothing but extended headers", async () => {
    const headers = Array.from({ length: 200 }, () => ({ path: "g", type: "g", content: "14 comment=ab\n" }));
    const bytes = rawTarGz([...headers, { path: "a" }]);
    const code = await codeOf(fetcher({ entries: 100 }).saveUpload("app1", streamOf(bytes)));
    expect(code).toBe("request.too_large The archive contains more than 100 extended headers. Pack the folder again.");
  });

  test("when much follows its end, of which no more is read than padding can be", async () => {
    let read = 0;
    async function* endless() {
      yield rawTar([{ path: "a" }]);
      for (; read < 1 << 30; read += 65_536) yield Buffer.alloc(65_536);
    }
    const problem = await inspectTar(endless(), { entries: 10, unpackedBytes: 2 ** 31 }).catch((error) => error);
    expect([problem.code, problem.message]).toEqual(["request.too_large", expect.stringContaining("after its end")]);
    expect(read).toBeLessThan(5 << 20);
  });

  test("but not for padding", async () => {
    const padded = Buffer.concat([rawTar([{ path: "a" }]), Buffer.alloc(1 << 20)]);
    expect((await source.saveUpload("app1", streamOf(padded))).sizeBytes).toBe(padded.length);
    await source.removeResource("app1");
  });

  test("when its sender breaks off", async () => {
    async function* broken() {
      yield rawTar([{ path: "a" }]);
      throw new Error("connection lost");
    }
    await expect(source.saveUpload("app1", broken())).rejects.toThrow("connection lost");
    expect(uploads()).toEqual([]);
  });

  const hostile: [string, (marker: string) => RawEntry[]][] = [
    ["an absolute path", (marker) => [{ path: marker, content: "x" }]],
    ["an absolute path in an extended header", (marker) => [{ path: "a", content: "x", pax: { path: marker } }]],
    ["a parent in its path", () => [{ path: "../../outside/marker", content: "x" }]],
    ["a parent in an extended header", () => [{ path: "a", content: "x", pax: { path: "b/../../../outside/marker" } }]],
    ["a backslash parent", () => [{ path: "..\\..\\outside\\marker", content: "x" }]],
    [
      "a link out and a file through it",
      () => [
        { path: "l", type: "SymbolicLink", linkpath: "../../outside" },
        { path: "l/marker", content: "x" },
      ],
    ],
    [
      "an absolute link and a file through it",
      () => [
        { path: "l", type: "SymbolicLink", linkpath: outside },
        { path: "l/marker", content: "x" },
      ],
    ],
    [
      "a link whose target is in an extended header",
      () => [{ path: "l", type: "SymbolicLink", linkpath: "ok", pax: { linkpath: outside } }],
    ],
    [
      "two links that leave together",
      () => [
        { path: "d/u", type: "SymbolicLink", linkpath: ".." },
        { path: "l", type: "SymbolicLink", linkpath: "d/u/../../outside" },
      ],
    ],
    ["a hard link out", () => [{ path: "l", type: "Link", linkpath: "/etc/hostname" }]],
    ["a hard link to a parent", () => [{ path: "l", type: "Link", linkpath: "../../outside/marker" }]],
    ["a device", () => [{ path: "null", type: "CharacterDevice" }]],
    ["a block device", () => [{ path: "disk", type: "BlockDevice" }]],
    ["a pipe", () => [{ path: "pipe", type: "FIFO" }]],
    ["a kind of entry nobody knows", () => [{ path: "a", type: "Z" }]],
  ];
  test.each(hostile)("when it holds %s", async (_what, entries) => {
    const marker = join(outside, "marker");
    const bytes = rawTar([{ path: "first", content: "1" }, ...entries(marker)]);
    expect(await codeOf(source.saveUpload("app1", streamOf(bytes)))).toMatch(/^source\.invalid /);
    expect(uploads()).toEqual([]);
    // Unpacking checks again, in case the upload's check was passed.
    const commit = sha256(bytes);
    writeFileSync(join(base, "sources", "uploads", "app1", `${commit}.tar`), bytes);
    expect(await codeOf(checkout(commit))).toMatch(/^source\.invalid /);
    expect(existsSync(marker)).toBe(false);
    expect(readdirSync(join(base, "sources", "checkouts"))).toEqual([]);
  });
});
