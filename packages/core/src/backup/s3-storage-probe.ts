import { isDomainError } from "../errors.ts";
import type { ObjectStorage } from "../ports/backup-files.ts";

export interface Probe {
  readonly key: string;
  readonly content: Uint8Array;
  /** Aborts a probe that takes too long. */
  readonly signal: AbortSignal;
}

/**
 * Why a bucket cannot be used for backups. Writes an object, reads it back, compares and deletes it.
 *
 * @returns `undefined` when all of this worked
 */
export async function bucketProblem(storage: ObjectStorage, probe: Probe): Promise<string | undefined> {
  const { key, content, signal } = probe;
  try {
    await storage.put(key, once(content), { sizeBytes: content.length, signal });
    const stored = await bytesOf(storage.get(key, signal), content.length);
    await storage.remove(key, signal);
    return isSame(stored, content) ? undefined : "It returned different bytes than were written to it.";
  } catch (error) {
    if (!isDomainError(error)) throw error;
    // Deletes the object also when it could be written but not read.
    await storage.remove(key, signal).catch(() => undefined);
    return signal.aborted ? "It did not answer in time." : error.message;
  }
}

async function* once(content: Uint8Array) {
  yield content;
}

/** Reads no more than `length`, so that an endless answer cannot fill the memory. */
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
