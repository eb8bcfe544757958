import { randomUUID } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";

/** `undefined` when the file does not exist, or was cut by a crash of the machine. */
export async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    // Only `writeJson` writes these files, in a folder that only we can enter.
    return JSON.parse(await readFile(path, "utf8")) as T;
  } catch (cause) {
    if (cause instanceof SyntaxError || (cause instanceof Error && "code" in cause && cause.code === "ENOENT")) {
      return undefined;
    }
    throw cause;
  }
}

export const writeJson = (path: string, value: unknown): Promise<void> => replaceFile(path, JSON.stringify(value));

/** Writes the file atomically, readable by us alone. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, path);
}
