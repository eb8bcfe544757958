import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { splitLines } from "./lines.ts";

/** A program's output streams. */
export interface OutputStreams {
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
}

export interface OutputOptions {
  readonly stdout?: unknown;
  readonly onLine?: ((line: string, stream: "stdout" | "stderr") => void) | undefined;
  readonly maxOutputBytes?: number | undefined;
  /** The output is complete after this time without data once the program has exited. Default 250. */
  readonly idleMs?: number | undefined;
  /** Longest time to read after the program's exit. Default: as long as data arrives. */
  readonly lateMsMax?: number | undefined;
}

export interface CollectedOutput {
  /** Resolves when all output was read. Call it after the processes have exited. */
  drained(): Promise<void>;
  kept(): { readonly output: string; readonly isTruncated: boolean };
}

const MAX_OUTPUT_BYTES = 1 << 20;
const IDLE_MS = 250; // Output of exited processes is in the pipe already, and read within a turn of the event loop.

/** Reads a child's standard error and output (unless `stdout` receives it) as lines, and stores their beginning. */
export function collectOutput(child: OutputStreams, options: OutputOptions): CollectedOutput {
  const idleMs = options.idleMs ?? IDLE_MS;
  const maxBytes = options.maxOutputBytes ?? MAX_OUTPUT_BYTES;
  const chunks: Buffer[] = [];
  let keptBytes = 0;
  let isTruncated = false;
  let readAt = Date.now();

  function keep(chunk: Buffer): void {
    const part = chunk.subarray(0, maxBytes - keptBytes);
    isTruncated ||= part.length < chunk.length;
    if (part.length > 0) chunks.push(part);
    keptBytes += part.length;
  }

  function read(name: "stdout" | "stderr", stream: Readable): Promise<void> {
    const lines = splitLines((line) => options.onLine?.(line, name));
    stream.on("data", (chunk: Buffer) => {
      readAt = Date.now();
      keep(chunk);
      lines.write(chunk);
    });
    return finished(stream, { writable: false })
      .catch(() => {}) // Aborted by `drained`.
      .then(() => lines.end());
  }

  const streams = {
    ...(child.stdout === null || options.stdout !== undefined ? {} : { stdout: child.stdout }),
    ...(child.stderr === null ? {} : { stderr: child.stderr }),
  };
  const reads = Object.entries(streams).map(([name, stream]) => read(name === "stdout" ? "stdout" : "stderr", stream));

  return {
    async drained() {
      const endMs = Date.now() + (options.lateMsMax ?? Number.POSITIVE_INFINITY);
      const all = Promise.all(reads).then(() => true);
      while (!(await Promise.race([all, delay(idleMs, false)]))) {
        // A process that left the group may keep the pipe open for ever.
        const isOver = Date.now() - readAt >= idleMs || Date.now() > endMs;
        if (isOver) for (const stream of Object.values(streams)) stream.destroy();
      }
    },
    kept: () => ({ output: new TextDecoder().decode(Buffer.concat(chunks), { stream: true }), isTruncated }),
  };
}
