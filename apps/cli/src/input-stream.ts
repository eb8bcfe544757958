import { createReadStream } from "node:fs";
import { access, constants } from "node:fs/promises";
import { resolve } from "node:path";
import { Failure } from "./failure.ts";
import type { System } from "./system.ts";

/** Opens a file for reading; `-` is standard input. @throws Failure when it cannot be read */
export async function inputStream({ cwd, stdin }: Pick<System, "cwd" | "stdin">, file: string) {
  if (file === "-") return stdin;
  const path = resolve(cwd, file);
  await access(path, constants.R_OK).catch((cause: unknown) => {
    throw new Failure(`${path} cannot be read.`, { cause });
  });
  return createReadStream(path);
}
