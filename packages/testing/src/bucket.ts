import { notFound } from "@berth/core";
import type { BackupFiles, ObjectStorage } from "@berth/core/ports";

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

/** The folder of a control plane with these backups, by their path. */
export const testBackupFiles = (
  files: Readonly<Record<string, () => AsyncIterable<Uint8Array>>> = {},
): Pick<BackupFiles, "folder" | "read"> => ({
  folder: async () => "folder",
  read: (path) => files[path]?.() ?? missing(),
});

// biome-ignore lint/correctness/useYield: as of a file, it is noticed with the first read.
async function* missing(): AsyncGenerator<Uint8Array> {
  throw notFound("Backup file");
}
