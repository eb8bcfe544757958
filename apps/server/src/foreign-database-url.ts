import { existsSync } from "node:fs";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { DataFolder } from "./data-folder.ts";

/**
 * The warning about `DATABASE_URL`, which earlier versions read, and which often belongs to another project.
 * @throws DomainError `setup.failed` if Berth stored its data there: a new empty database would look like data loss.
 */
export function foreignDatabaseUrl(folder: Pick<DataFolder, "root" | "database" | "keyFile">): string {
  const hasEmbedded = [folder.database, join(folder.root, "pglite")].some((path) => existsSync(path));
  if (existsSync(folder.keyFile) && !hasEmbedded) {
    throw new DomainError(
      "setup.failed",
      `The data of ${folder.root} is in the database of DATABASE_URL, which Berth no longer reads. ` +
        "Rename the variable to BERTH_DATABASE_URL.",
    );
  }
  return "DATABASE_URL is set and not used. Set BERTH_DATABASE_URL for a PostgreSQL of your own.";
}
