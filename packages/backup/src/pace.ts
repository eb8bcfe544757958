import { DomainError } from "@berth/core";

/** How slow a storage may send. */
export interface Pace {
  /** Waiting for the storage in total, without the time that the reader takes. */
  readonly seconds: number;
  /** Fewer bytes in that time are too few. */
  readonly bytesMin: number;
}

/** Slower than any storage: a gigabyte would take ten days. */
export const PACE: Pace = { seconds: 60, bytesMin: 64 << 10 };

/** Ends content that would otherwise take for ever, byte by byte. @throws DomainError `cloud.failed` */
export async function* atPace<T extends Uint8Array>(
  content: AsyncIterable<T>,
  { seconds, bytesMin }: Pace,
): AsyncGenerator<T> {
  const chunks = content[Symbol.asyncIterator]();
  let waitedMs = 0;
  let bytes = 0;
  try {
    for (;;) {
      const startedMs = performance.now();
      const { done, value } = await chunks.next();
      if (done) return;
      waitedMs += performance.now() - startedMs;
      bytes += value.length;
      if (waitedMs >= seconds * 1000) {
        if (bytes < bytesMin) throw tooSlow(bytes, seconds);
        waitedMs = 0;
        bytes = 0;
      }
      yield value;
    }
  } finally {
    await chunks.return?.();
  }
}

const tooSlow = (bytes: number, seconds: number) =>
  new DomainError(
    "cloud.failed",
    `The S3 storage cannot be used: it sent ${bytes} bytes in ${seconds} seconds. Try again when it is faster.`,
  );
