import { StringDecoder } from "node:string_decoder";

/** A longer line is handed on in pieces of this many characters, so that memory stays bounded. */
export const LINE_LENGTH_MAX = 65_536;

export interface LineSplitter {
  write(chunk: Uint8Array): void;
  /** Hands on what stands after the last line end. */
  end(): void;
}

/**
 * Cuts a stream of bytes into lines. Invalid UTF-8 becomes U+FFFD. A carriage return takes the line back to its start
 * as on a terminal, so a progress bar leaves its last state only.
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

/** A cut inside a surrogate pair would make two broken characters of one whole. */
function lengthWithoutHalfPair(text: string, length: number): number {
  const last = text.charCodeAt(length - 1);
  return last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
}
