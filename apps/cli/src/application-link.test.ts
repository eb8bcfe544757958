import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findLinks, linkPath, removeLink, saveLink } from "./application-link.ts";
import { deployFolder, nameOf } from "./deploy/folder.ts";
import type { System } from "./system.ts";
import { temporaryFolder } from "./temporary-folder.fixture.ts";

const link = (url: string, uuid: string) => ({ url, uuid, name: `app-${uuid}` });

describe("what a folder is deployed as", () => {
  test("is remembered for each server, and found from the folders in it", async () => {
    using folder = temporaryFolder({ "src/deep/a.js": "" });
    await saveLink(folder.path, link("https://one", "u1"));
    await saveLink(folder.path, link("https://two", "u2"));
    await saveLink(folder.path, link("https://one", "u3"));
    const found = await findLinks(join(folder.path, "src/deep"));
    expect(found?.links.map(({ url, uuid }) => [url, uuid])).toEqual([
      ["https://one", "u3"],
      ["https://two", "u2"],
    ]);
    expect(await removeLink(folder.path, "u3")).toBe(true);
    expect(await removeLink(folder.path, "u3")).toBe(false);
    expect((await findLinks(folder.path))?.links.map(({ uuid }) => uuid)).toEqual(["u2"]);
  });

  test("holds no secret and touches no ignore file", async () => {
    using folder = temporaryFolder({ ".gitignore": "node_modules\n" });
    await saveLink(folder.path, link("https://one", "u1"));
    expect(JSON.parse(readFileSync(linkPath(folder.path), "utf8"))).toEqual({
      applications: [link("https://one", "u1")],
    });
    expect(readFileSync(join(folder.path, ".gitignore"), "utf8")).toBe("node_modules\n");
  });

  test("that is damaged is told by its name", async () => {
    using folder = temporaryFolder({ ".berth/app.json": "" });
    writeFileSync(linkPath(folder.path), "{}");
    await expect(findLinks(folder.path)).rejects.toThrow("app.json");
  });
});

describe("the folder that is deployed", () => {
  const system = (cwd: string, homeFolder = "/nonexistent") => ({ cwd, homeFolder }) as System;

  test("is the one above that was deployed before, unless one is named", async () => {
    using folder = temporaryFolder({ "src/a.js": "" });
    await saveLink(folder.path, link("https://one", "u1"));
    const src = join(folder.path, "src");
    const above = { path: folder.path, argument: "..", isNamed: false };
    expect(await deployFolder(system(src), undefined)).toMatchObject(above);
    expect((await deployFolder(system(folder.path), undefined)).argument).toBe(".");
    const named = { path: src, argument: "src", isNamed: true, links: [] };
    expect(await deployFolder(system(folder.path), "src")).toEqual(named);
    expect((await deployFolder(system("/"), folder.path)).links).toHaveLength(1);
  });

  test("is never a whole home or disk, and must be there", async () => {
    using folder = temporaryFolder({ "a.txt": "" });
    await expect(deployFolder(system(folder.path, folder.path), undefined)).rejects.toThrow(
      "not the folder of an application",
    );
    await expect(deployFolder(system("/"), undefined)).rejects.toThrow("not the folder of an application");
    await expect(deployFolder(system(folder.path), "nope")).rejects.toThrow("is not a folder");
    await expect(deployFolder(system(folder.path), "a.txt")).rejects.toThrow("is not a folder");
  });

  test.each([
    ['{"name":"@acme/web"}', "web"],
    ['{"name":"web"}', "web"],
    ['{"name":7}', undefined],
    ["{", undefined],
    ["null", undefined],
  ])("with the package %s gives its application the name %s", async (text, name) => {
    using folder = temporaryFolder({ "package.json": text });
    expect(await nameOf(folder.path)).toBe(name ?? folder.path.split("/").at(-1));
  });
});
