// Generates openapi.json and openapi.yaml in the repository's root; with --check only reports whether they are up to
// date. A folder as last argument replaces the root.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { appRouter, describe, jsonOf, yamlOf } from "../../packages/api/src/index.ts";

const isCheck = process.argv.includes("--check");
const folder =
  process.argv.slice(2).find((argument) => argument !== "--check") ?? fileURLToPath(new URL("../..", import.meta.url));
const description = await describe(appRouter);
const texts = { "openapi.json": jsonOf(description), "openapi.yaml": await yamlOf(description) };

for (const [name, text] of Object.entries(texts)) {
  const file = join(folder, name);
  if (!isCheck) {
    await writeFile(file, text);
    continue;
  }
  const committed = await readFile(file, "utf8").catch(() => "");
  if (committed === text) continue;
  console.error(`${name} differs from what the operations say${firstDifference(committed, text)}`);
  console.error("Run `npm run openapi` and commit both files.");
  process.exitCode = 1;
}

function firstDifference(committed: string, generated: string): string {
  if (committed === "") return ": there is none.";
  const [old, now] = [committed.split("\n"), generated.split("\n")];
  const line = now.findIndex((text, index) => text !== old[index]);
  const at = line === -1 ? now.length : line;
  return `, first in line ${at + 1}:\n  - ${old[at] ?? "(end)"}\n  + ${now[at] ?? "(end)"}`;
}
