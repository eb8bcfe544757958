import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Parser } from "tar";
import { expect, it } from "vitest";
import { gzipped, tarOf } from "./tar.ts";

it("makes archives that tar reads, with long and foreign names and files of every size", async () => {
  const long = `${"deep/".repeat(40)}näme.txt`;
  const files = [
    ["a.txt", "a"],
    ["empty", ""],
    ["whole-block", "x".repeat(512)],
    [long, "long"],
  ].map(([path = "", text = ""]) => ({ path, file: new Blob([text]) }));
  const archive = await gzipped(tarOf(files));
  const read: [string, string][] = [];
  const parser = new Parser({
    strict: true,
    onReadEntry: (entry) => {
      const chunks: Buffer[] = [];
      entry.on("data", (chunk) => chunks.push(chunk));
      entry.on("end", () => read.push([entry.path, Buffer.concat(chunks).toString()]));
    },
  });
  await pipeline(Readable.from(Buffer.from(await archive.arrayBuffer())), parser);
  expect(read.map(([path, text]) => [path, text.length])).toEqual([
    ["a.txt", 1],
    ["empty", 0],
    ["whole-block", 512],
    [long, 4],
  ]);
});
