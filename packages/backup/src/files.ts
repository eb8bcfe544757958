import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { Readable } from "node:stream";
import { createGzip } from "node:zlib";
import { DomainError, isDomainError, notFound } from "@berth/core";
import type { BackupFiles, Sink, StoredContent } from "@berth/core/ports";

/** Backups in a folder of this machine. Files have mode 0600, folders 0700. */
export function backupFiles(root: string): BackupFiles {
  let id: Promise<string> | undefined;

  const inside = (recorded: string): string => {
    const path = isWithin(root, recorded) ? recorded : moved(root, recorded);
    if (!isWithin(root, path)) throw notFound("Backup file");
    return path;
  };

  return {
    folder() {
      id ??= identity(root).catch((cause: unknown) => {
        id = undefined;
        throw diskError(cause);
      });
      return id;
    },
    pathOf: (databaseUuid, name) => join(root, databaseUuid, name),
    async write(recorded, produce, { isCompressed, onBytes = () => undefined }) {
      const path = inside(recorded);
      const part = `${path}${PART}`;
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        const content = await writeWhole(part, produce, { isCompressed, onBytes });
        await rename(part, path);
        await syncFolder(dirname(path));
        return content;
      } catch (cause) {
        await rm(part, { force: true }).catch(() => undefined);
        throw diskError(cause);
      }
    },
    async *read(path) {
      try {
        yield* createReadStream(inside(path));
      } catch (cause) {
        throw codeOf(cause) === "ENOENT" ? notFound("Backup file") : diskError(cause);
      }
    },
    async remove(recorded) {
      try {
        const path = inside(recorded);
        for (const one of [`${path}${PART}`, path]) await rm(one, { force: true });
      } catch (cause) {
        throw diskError(cause);
      }
    },
    async removeFolder(databaseUuid) {
      try {
        await rm(inside(join(root, databaseUuid)), { recursive: true, force: true });
      } catch (cause) {
        throw diskError(cause);
      }
    },
  };
}

const PART = ".part";

const isWithin = (root: string, path: string): boolean => resolve(path).startsWith(resolve(root) + sep);

/** The current path of a recorded file, since its folder may have been moved with all its content. */
function moved(root: string, recorded: string): string {
  const database = basename(dirname(recorded));
  return DATABASE_UUID.test(database) ? join(root, database, basename(recorded)) : recorded;
}

const DATABASE_UUID = /^[a-z][a-z0-9]{23}$/;

async function writeWhole(
  path: string,
  produce: (sink: Sink) => Promise<void>,
  { isCompressed, onBytes }: { readonly isCompressed: boolean; readonly onBytes: (written: number) => void },
): Promise<StoredContent> {
  const hash = createHash("sha256");
  let sizeBytes = 0;
  const file = await open(path, "w", 0o600);
  const sink: Sink = async (chunks) => {
    for await (const chunk of isCompressed ? chunks : compressed(chunks)) {
      await writeAll(file, chunk);
      hash.update(chunk);
      sizeBytes += chunk.length;
      onBytes(sizeBytes);
    }
  };
  try {
    await produce(async (chunks) => {
      try {
        await sink(chunks);
      } catch (cause) {
        // Errors of the producer are thrown unchanged.
        throw diskError(cause);
      }
    });
    // Before this, a full disk may not have been reported.
    await file.sync();
  } finally {
    await file.close();
  }
  return { sizeBytes, sha256: hash.digest("hex") };
}

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  let at = 0;
  while (at < chunk.length) at += (await file.write(chunk, at)).bytesWritten;
}

async function* compressed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(chunks);
  const gzip = createGzip();
  source.once("error", (error) => gzip.destroy(error));
  try {
    yield* source.pipe(gzip);
  } finally {
    source.destroy();
  }
}

/** A new file name is durable only after its folder is synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function identity(root: string): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const path = join(root, "folder-id");
  try {
    // Of several writers the first one wins.
    await writeFile(path, randomBytes(12).toString("hex"), { mode: 0o600, flag: "wx" });
  } catch (cause) {
    if (codeOf(cause) !== "EEXIST") throw cause;
  }
  return await readFile(path, "utf8");
}

const codeOf = (cause: unknown): unknown => (cause instanceof Error && "code" in cause ? cause.code : undefined);

function diskError(cause: unknown): DomainError {
  if (isDomainError(cause)) return cause;
  const code = codeOf(cause);
  const isFull = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
  const sentence = isFull
    ? "The disk with the backups is full. Free space on it, or keep fewer backups."
    : `The folder of backups cannot be used${typeof code === "string" ? ` (${code})` : ""}.`;
  return new DomainError("engine.failed", sentence, { cause });
}
