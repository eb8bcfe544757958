import { type Frame, readFrames } from "@berth/docker-client";
import { streamOf } from "@berth/source/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { placeFrames } from "./log-lines.ts";

const frameOf = (stream: 1 | 2, text: string): Buffer => {
  const body = Buffer.from(text);
  const head = Buffer.alloc(8);
  head[0] = stream;
  head.writeUInt32BE(body.length, 4);
  return Buffer.concat([head, body]);
};

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test("frames are the same however their bytes are cut", async () => {
  const frame = fc.tuple(fc.constantFrom(1 as const, 2 as const), fc.string());
  await fc.assert(
    fc.asyncProperty(fc.array(frame), fc.integer({ min: 1, max: 20 }), async (frames, chunkBytes) => {
      const bytes = Buffer.concat(frames.map(([stream, text]) => frameOf(stream, text)));
      const read = await collect(readFrames(streamOf(bytes, chunkBytes)));
      expect(read.map(({ stream, bytes: body }) => [stream, body.toString()])).toEqual(
        frames.map(([stream, text]) => [stream === 1 ? "stdout" : "stderr", text]),
      );
    }),
  );
});

describe("lines", () => {
  const AT = "2026-01-01T00:00:00.000000001Z";
  const LATER = "2026-01-01T00:00:00.000000002Z";
  const linesOf = async (...frames: readonly (readonly [Frame["stream"], string, string])[]) => {
    const source = (async function* () {
      for (const [stream, moment, text] of frames) yield { stream, bytes: Buffer.from(`${moment} ${text}`) };
    })();
    return (await collect(placeFrames(source))).map(({ cursor, text }) => [cursor.moment, cursor.count, text]);
  };

  test("are whole though the engine cuts long ones, each stream by itself", async () => {
    const lines = await linesOf(
      ["stdout", AT, "one "],
      ["stderr", AT, "error\n"],
      ["stdout", AT, "line\n"],
      ["stdout", LATER, "\n"],
    );
    expect(lines).toEqual([
      [AT, 2, "error"],
      [AT, 3, "one line"],
      [LATER, 1, ""],
    ]);
  });

  test("that never end are handed on in pieces, whose end makes no empty line", async () => {
    const piece = "x".repeat(40_000);
    const lines = await linesOf(
      ["stdout", AT, piece],
      ["stdout", AT, piece],
      ["stdout", AT, "\n"],
      ["stdout", LATER, "y\n"],
    );
    expect(lines.map(([, , text]) => String(text).length)).toEqual([80_000, 1]);
  });

  test("that are drawn anew keep what was drawn last", async () => {
    expect(await linesOf(["stdout", AT, "10 %\r20 %\r\n"])).toEqual([[AT, 1, "20 %"]]);
  });
});
