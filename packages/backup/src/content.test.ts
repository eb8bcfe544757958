import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { verifyContent } from "./content.ts";

const CHUNKS = ["one", "two", "three"];
const sha256 = createHash("sha256").update(CHUNKS.join("")).digest("hex");

async function* read(chunks: readonly string[]) {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

/** What is passed on, and the problem at its end. */
async function passed(chunks: readonly string[], recorded: { sizeBytes: number | null; sha256: string | null }) {
  let text = "";
  try {
    for await (const chunk of verifyContent(read(chunks), recorded)) text += Buffer.from(chunk).toString();
    return [text];
  } catch (error) {
    return [text, error instanceof Error ? error.message : error];
  }
}

const DAMAGED = expect.stringMatching(/^This copy is damaged/);

test.each([
  ["all of good content", CHUNKS, { sizeBytes: 11, sha256 }, ["onetwothree"]],
  ["content whose size was not recorded", CHUNKS, { sizeBytes: null, sha256 }, ["onetwothree"]],
  ["nothing, of nothing", [], { sizeBytes: 0, sha256: null }, [""]],
  [
    "all but the end of content with another checksum",
    ["one", "tWo", "three"],
    { sizeBytes: 11, sha256 },
    ["onetWo", DAMAGED],
  ],
  ["all but the end of content that is cut off", ["one", "two"], { sizeBytes: 11, sha256: null }, ["one", DAMAGED]],
  [
    "no more than what was recorded of longer content",
    [...CHUNKS, "four"],
    { sizeBytes: 11, sha256 },
    ["onetwo", DAMAGED],
  ],
])("passes on %s", async (_title, chunks, recorded, expected) => {
  expect(await passed(chunks, recorded)).toEqual(expected);
});
