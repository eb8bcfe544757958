import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { DomainError } from "@berth/core";
import type { Decompress, Digest } from "@berth/core/ports";

export const digest: Digest = async (content) => {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  for await (const chunk of content) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sizeBytes, sha256: hash.digest("hex") };
};

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
