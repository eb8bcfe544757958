import { notFound } from "@berth/core";
import type { ObjectStorage } from "@berth/core/ports";

/** A bucket in memory. */
export function testBucket(): ObjectStorage {
  const objects = new Map<string, Uint8Array>();
  return {
    async put(key, content) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      objects.set(key, Buffer.concat(chunks));
    },
    async *get(key) {
      const found = objects.get(key);
      if (found === undefined) throw notFound("Object");
      yield found;
    },
    async remove(key) {
      objects.delete(key);
    },
  };
}
