import { Writable } from "node:stream";
import type { Screen } from "./system.ts";

/** A stream that stores what is written to it. */
export function screen({ isTTY = false } = {}): { readonly stream: Screen; text(): string } {
  const chunks: string[] = [];
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY, columns: 80, rows: 24 }), text: () => chunks.join("") };
}
