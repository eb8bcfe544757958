import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { DomainError } from "@berth/core";
import type { Decompress, Digest, VerifyContent } from "@berth/core/ports";

export const digest: Digest = async (content) => {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of content) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sizeBytes, sha256: hash.digest("hex") };
};

export const verifyContent: VerifyContent = async function* (content, recorded) {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  // The last chunk is held back: a receiver that gets all bytes must be able to rely on them.
  let last: Uint8Array | undefined;
  for await (const chunk of content) {
    hash.update(chunk);
    sizeBytes += chunk.length;
    if (recorded.sizeBytes !== null && sizeBytes > recorded.sizeBytes) throw damaged();
    if (last !== undefined) yield last;
    last = chunk;
  }
  const isShort = recorded.sizeBytes !== null && sizeBytes < recorded.sizeBytes;
  if (isShort || (recorded.sha256 !== null && hash.digest("hex") !== recorded.sha256)) throw damaged();
  if (last !== undefined) yield last;
};

const damaged = () =>
  new DomainError("resource.state", "This copy is damaged: its size or checksum differs from the backup's.");

export const decompress: Decompress = async function* (content) {
  const source = Readable.from(content);
  const gunzip = createGunzip();
  source.once("error", (error) => gunzip.destroy(error));
  try {
    yield* source.pipe(gunzip);
  } catch (cause) {
    if (cause instanceof DomainError) throw cause;
    throw new DomainError("engine.failed", "The backup cannot be decompressed.", { cause });
  } finally {
    source.destroy();
  }
};
