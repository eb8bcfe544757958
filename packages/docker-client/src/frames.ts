import { DomainError } from "@berth/core";

/** One write of a container: a line, or a part of a long one. */
export interface Frame {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Buffer;
}

const HEADER_BYTES = 8;
const STREAMS: readonly (Frame["stream"] | undefined)[] = [undefined, "stdout", "stderr"];

/** Far above an engine's frames: it splits lines at 16 KB. */
const FRAME_BYTES_MAX = 4 << 20;

/**
 * Splits an engine's multiplexed output into frames, however its bytes are chunked.
 * @throws DomainError `engine.unreachable` for other data: as after a lost connection, nobody knows the rest
 */
export async function* readFrames(chunks: AsyncIterable<Uint8Array | string>): AsyncGenerator<Frame> {
  let open = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.from(chunk);
    open = open.length === 0 ? bytes : Buffer.concat([open, bytes]);
    let at = 0;
    while (open.length - at >= HEADER_BYTES) {
      const size = open.readUInt32BE(at + 4);
      if (size > FRAME_BYTES_MAX)
        throw new DomainError("engine.unreachable", "The engine sent output in an unknown format.");
      const end = at + HEADER_BYTES + size;
      if (end > open.length) break;
      const stream = STREAMS[open[at] ?? 0];
      if (stream !== undefined) yield { stream, bytes: open.subarray(at + HEADER_BYTES, end) };
      at = end;
    }
    open = open.subarray(at);
  }
}
