import { mkdirSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { join } from "node:path";
import { dataFolderPath } from "./data-folder-path.ts";

// Before anything else is imported: the second start then neither strips types nor compiles, which saves half of its
// time and some 30 MB. In the data folder, since nobody else may write what we run.
try {
  const folder = join(dataFolderPath(process.env), "compile-cache");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  enableCompileCache(folder);
} catch {
  // A folder that cannot be written is reported by the start itself.
}
await import("./run.ts");
