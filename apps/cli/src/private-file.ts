import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { z } from "zod";
import { Failure, hasCode } from "./failure.ts";

/** Replaces a file that only its owner may read. The replacement is atomic: readers see the old or the new text. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, "wx", 0o600);
    try {
      await file.writeFile(text);
      // The umask may have removed permissions from the mode given to `open`.
      await file.chmod(0o600);
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (cause) {
    await rm(draft, { force: true });
    throw new Failure(`${path} cannot be written.`, { cause });
  }
}

/** @returns `undefined` when the file does not exist, or belongs to another user. */
export async function readJsonFile<S extends z.ZodType>(path: string, schema: S): Promise<z.infer<S> | undefined> {
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    if (hasCode(cause, "ENOENT", "ENOTDIR", "EACCES", "EPERM")) return undefined;
    throw new Failure(`${path} cannot be read.`, { cause });
  });
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Failure(`${path} is not valid. Correct it, or remove it and start again.`, { cause });
  }
}
