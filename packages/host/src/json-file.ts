import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";

/** `undefined` when there is no such file, or the machine went down while it was written. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    // Only `writeJson` writes these files, in a folder that only we enter.
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (cause) {
    if (cause instanceof SyntaxError || (cause instanceof Error && "code" in cause && cause.code === "ENOENT")) {
      return undefined;
    }
    throw cause;
  }
}

/** Whole or not at all, readable by us alone. */
export async function writeJson(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, JSON.stringify(value), { mode: 0o600 });
  await rename(temporary, path);
}
