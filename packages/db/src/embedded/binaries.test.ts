import { chmod, cp, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findBinaries, packageFolder } from "./binaries.ts";
import { dataFolders, isRootUser } from "./folder.fixture.ts";
import { databaseOwner } from "./owner.ts";

describe("the PostgreSQL programs", () => {
  const newFolder = dataFolders();

  it("run where they were installed when the database's user can reach them", async () => {
    const folder = await newFolder();
    await chmod(folder, 0o711);
    const owner = await databaseOwner(() => undefined);
    if (owner === undefined) throw new Error("The user of this test has no name");
    const found = await findBinaries(owner, join(folder, "runtime"));
    expect(found?.version).toMatch(/^18\.\d+$/);
    expect(await readdir(folder)).toEqual([]);
  });

  it.runIf(isRootUser)("are copied whole, without what only compilers need, when it cannot", async () => {
    const folder = await newFolder();
    await chmod(folder, 0o711);
    const installed = packageFolder();
    const owner = await databaseOwner(() => undefined);
    if (installed === undefined || owner === undefined) throw new Error("They are installed with this package");
    const closed = { folder: join(folder, "closed", "package"), version: installed.version };
    await mkdir(join(folder, "closed"), { mode: 0o700 });
    await cp(installed.folder, closed.folder, { recursive: true, verbatimSymlinks: true });
    // As after an install without scripts.
    await rm(join(closed.folder, "native", "lib", "libpq.so.5"));
    const found = await findBinaries(owner, join(folder, "runtime"), closed);
    const copy = join(folder, "runtime", `postgres-${installed.version}`);
    expect(found?.postgres).toBe(join(copy, "bin", "postgres"));
    const copied = await readdir(join(copy, "lib"));
    expect(copied).toContain("libpq.so.5");
    expect(copied.filter((name) => name.endsWith(".a"))).toEqual([]);
    // It is linked, not copied.
    expect((await stat(join(copy, "bin", "postgres"))).nlink).toBeGreaterThan(1);
    expect(await findBinaries(owner, join(folder, "runtime"), closed)).toEqual(found);
    expect(await readdir(join(folder, "runtime"))).toEqual([`postgres-${installed.version}`]);
  });

  it("are not there on a platform without a package", async () => {
    const owner = await databaseOwner(() => undefined);
    if (owner === undefined) throw new Error("The user of this test has no name");
    const empty = { folder: await newFolder(), version: "1" };
    await expect(findBinaries(owner, join(empty.folder, "runtime"), empty)).rejects.toThrow();
  });
});
