import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { foreignDatabaseUrl } from "./foreign-database-url.ts";

describe("a DATABASE_URL", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "berth-url-"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));
  const folder = () => ({ root, database: join(root, "database"), keyFile: join(root, "secret.key") });

  test("is not used, which a new instance and one with an embedded database say", () => {
    expect(foreignDatabaseUrl(folder())).toMatch(/not used.*BERTH_DATABASE_URL/);
    writeFileSync(folder().keyFile, "");
    for (const name of ["database", "pglite"]) {
      mkdirSync(join(root, name));
      expect(foreignDatabaseUrl(folder())).toMatch(/not used/);
      rmSync(join(root, name), { recursive: true });
    }
  });

  test("that has held the data so far is asked for by its new name, instead of beginning with nothing", () => {
    writeFileSync(folder().keyFile, "");
    expect(() => foreignDatabaseUrl(folder())).toThrow(/Rename the variable to BERTH_DATABASE_URL/);
  });
});
