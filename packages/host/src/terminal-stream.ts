import { once } from "node:events";
import type { Duplex } from "node:stream";

/** Output of a terminal. @param ended Called at its end; rejects if the connection broke before the shell ended. */
export async function* terminalOutput(
  stream: Duplex,
  ended: (cause?: unknown) => void | Promise<void>,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) yield chunk;
  } catch (cause) {
    return await ended(cause);
  }
  await ended();
}

/** Resolves when the terminal can receive more. What is written after its end is dropped. */
export async function writeTo(stream: Duplex, input: Uint8Array): Promise<void> {
  if (stream.destroyed || stream.writableEnded || stream.write(input)) return;
  const drained = new AbortController();
  const { signal } = drained;
  try {
    await Promise.race([once(stream, "drain", { signal }), once(stream, "close", { signal })]);
  } catch {
    // The stream failed, which the reader of its output reports.
  } finally {
    drained.abort();
  }
}
