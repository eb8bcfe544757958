import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTemplate, type TemplateRecord } from "@berth/core/service";
import { ASSETS } from "#assets";

export const TEMPLATES_FOLDER = fileURLToPath(new URL("templates/", ASSETS));

const ENDING = ".yaml";

/** The one-click services of a folder: each file is one, named by its type. Read once, at the start. */
export async function readTemplates(folder: string): Promise<readonly TemplateRecord[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(ENDING)).toSorted();
  return Promise.all(
    files.map(async (file) => parseTemplate(file.slice(0, -ENDING.length), await readFile(join(folder, file), "utf8"))),
  );
}
