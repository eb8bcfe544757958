import { StringDecoder } from "node:string_decoder";

/** Longer lines are split into pieces of this many characters, so that memory stays bounded. */
export const LINE_LENGTH_MAX = 65_536;

export interface LineSplitter {
  write(chunk: Uint8Array): void;
  /** Emits the rest after the last line end. */
  end(): void;
}

/**
 * Splits a stream of bytes into lines. Invalid UTF-8 becomes U+FFFD. Text after a carriage return replaces the line,
 * as on a terminal, so only the last state of a progress bar remains.
 */
export function splitLines(onLine: (line: string) => void): LineSplitter {
  const decoder = new StringDecoder("utf8");
  let line = "";
  let isReturned = false;

  function append(text: string): void {
    if (text === "") return;
    line = isReturned ? text : line + text;
    isReturned = false;
    while (line.length >= LINE_LENGTH_MAX) {
      const end = lengthWithoutHalfPair(line, LINE_LENGTH_MAX);
      onLine(line.slice(0, end));
      line = line.slice(end);
    }
  }

  function accept(text: string): void {
    let from = 0;
    for (const { 0: mark, index } of text.matchAll(/[\r\n]/g)) {
      append(text.slice(from, index));
      from = index + 1;
      if (mark === "\r") {
        isReturned = true;
        continue;
      }
      onLine(line);
      line = "";
      isReturned = false;
    }
    append(text.slice(from));
  }

  return {
    write: (chunk) => accept(decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))),
    end: () => {
      accept(decoder.end());
      if (line !== "") onLine(line);
      line = "";
    },
  };
}

/** Avoids a split inside a surrogate pair, which would break the character. */
function lengthWithoutHalfPair(text: string, length: number): number {
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}
