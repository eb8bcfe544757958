import { readFile } from "node:fs/promises";
import type { TemplateRecord } from "@berth/core/service";
import { ASSETS } from "#assets";

/** As `tooling/build/templates.mjs` wrote them: parsing hundreds of compose files took a fifth of a start's CPU time. */
export async function readTemplates(): Promise<readonly TemplateRecord[]> {
  return JSON.parse(await readFile(new URL("templates.json", ASSETS), "utf8"));
}
