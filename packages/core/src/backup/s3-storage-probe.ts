import { isDomainError } from "../errors.ts";
import type { ObjectStorage } from "../ports/backup-files.ts";

export interface Probe {
  readonly key: string;
  readonly content: Uint8Array;
  /** After which it counts as one that does not answer. */
  readonly signal: AbortSignal;
}

/**
 * Why backups could not be kept in a bucket: an object is written, read back, compared and deleted.
 *
 * @returns `undefined` when they could
 */
export async function bucketProblem(storage: ObjectStorage, probe: Probe): Promise<string | undefined> {
  const { key, content, signal } = probe;
  try {
    await storage.put(key, once(content), { sizeBytes: content.length, signal });
    const stored = await bytesOf(storage.get(key, signal), content.length);
    await storage.remove(key, signal);
    return isSame(stored, content) ? undefined : "It gave back something else than what was written to it.";
  } catch (error) {
    if (!isDomainError(error)) throw error;
    // Where only reading fails, what was written shall not stay.
    await storage.remove(key, signal).catch(() => undefined);
    return signal.aborted ? "It did not answer in time." : error.message;
  }
}

async function* once(content: Uint8Array) {
  yield content;
}

/** No more than is asked for: a bucket that sends without end is none. */
async function bytesOf(chunks: AsyncIterable<Uint8Array>, length: number): Promise<readonly number[]> {
  const bytes: number[] = [];
  for await (const chunk of chunks) {
    bytes.push(...chunk.subarray(0, length + 1 - bytes.length));
    if (bytes.length > length) break;
  }
  return bytes;
}

const isSame = (stored: readonly number[], content: Uint8Array): boolean =>
  stored.length === content.length && stored.every((byte, at) => byte === content[at]);
