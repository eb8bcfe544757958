import { rawTar, streamOf } from "@berth/source/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { withoutFiles } from "./archive-filter.ts";

async function filtered(archive: Buffer, size: number, left: readonly string[]): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of withoutFiles(streamOf(archive, size), (path) => left.includes(path))) parts.push(part);
  return Buffer.concat(parts);
}

describe("an archive on its way", () => {
  test("loses exactly the files that are left out, however it is cut", async () => {
    const file = fc.record({ isLeftOut: fc.boolean(), content: fc.string({ maxLength: 2000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(file, { maxLength: 6 }), fc.integer({ min: 1, max: 3000 }), async (files, size) => {
        const all = files.map(({ content, isLeftOut }, at) => ({ path: `f${at}`, content, isLeftOut }));
        const left = all.filter(({ isLeftOut }) => isLeftOut).map(({ path }) => path);
        const kept = all.filter(({ isLeftOut }) => !isLeftOut).map(({ path, content }) => ({ path, content }));
        const archive = rawTar(all.map(({ path, content }) => ({ path, content })));
        expect(await filtered(archive, size, left)).toEqual(rawTar(kept));
      }),
      { numRuns: 50 },
    );
  });

  test("is passed on whole from the first entry on that is more than a file", async () => {
    const entries = [
      { path: "a", content: "1" },
      { path: "link", type: "2", linkpath: "a" },
      { path: "b", content: "2" },
    ];
    const archive = rawTar(entries);
    expect(await filtered(archive, 700, ["b"])).toEqual(archive);
    expect((await filtered(archive, 700, ["a"])).length).toBe(archive.length - 1024);
  });

  test("that breaks off is passed on as far as it came", async () => {
    const archive = rawTar([{ path: "a", content: "1" }]).subarray(0, 600);
    expect(await filtered(archive, 100, [])).toEqual(archive);
  });
});
