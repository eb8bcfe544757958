import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@hey-api/openapi-ts";
import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";
import { afterEach, beforeEach, expect, test } from "vitest";

const DESCRIPTION = new URL("../../../openapi.json", import.meta.url);

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "berth-clients-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("types that openapi-typescript makes of the description compile, and know the operations", async () => {
  writeFileSync(join(folder, "berth.ts"), astToString(await openapiTypescript(DESCRIPTION)));
  const use = `
    import type { components, paths } from "./berth.ts";
    type Created = paths["/applications/public"]["post"]["responses"]["201"]["content"]["application/json"];
    export const uuidOf = (created: Created): string => created.uuid;
    export const statusOf = (application: components["schemas"]["Application"]): string => application.status;
  `;
  writeFileSync(join(folder, "use.ts"), use);
  expect(problemsOf("use.ts")).toEqual([]);
});

test("the client that openapi-ts makes of the description compiles", async () => {
  await createClient({
    input: fileURLToPath(DESCRIPTION),
    output: { path: join(folder, "client"), importFileExtension: ".ts" },
    logs: { level: "silent" },
  });
  const use = `
    import { getApplicationByUuid } from "./client/index.ts";
    export async function nameOf(uuid: string): Promise<string | undefined> {
      const { data } = await getApplicationByUuid({ path: { uuid } });
      return data?.name;
    }
  `;
  writeFileSync(join(folder, "use.ts"), use);
  expect(problemsOf("use.ts")).toEqual([]);
});

function problemsOf(file: string): string[] {
  const program = ts.createProgram([join(folder, file)], {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
  });
  return ts
    .getPreEmitDiagnostics(program)
    .slice(0, 10)
    .map(({ file: at, start = 0, messageText }) => {
      const { line } = at?.getLineAndCharacterOfPosition(start) ?? { line: 0 };
      return `${at?.fileName.replace(folder, "")}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
    });
}
