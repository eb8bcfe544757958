import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseTemplate, type TemplateRecord } from "@berth/core/service";
import { ASSETS } from "#assets";

const TEMPLATES_FOLDER = fileURLToPath(new URL("templates/", ASSETS));

const ENDING = ".yaml";

/** Service templates of a folder, each in a file named after its type. Read once, at the start. */
export async function readTemplates(folder = TEMPLATES_FOLDER): Promise<readonly TemplateRecord[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(ENDING));
  // Sorted without the extension, which would put `n8n-with-worker` before `n8n`.
  const types = files.map((file) => file.slice(0, -ENDING.length)).toSorted();
  return Promise.all(
    types.map(async (type) => parseTemplate(type, await readFile(join(folder, `${type}${ENDING}`), "utf8"))),
  );
}
