import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { basicCredentials } from "@berth/core/source";
import { createRepository } from "@berth/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { errorOf, type SourceBench, sourceBench, tree } from "./source.fixture.ts";

let bench: SourceBench;
beforeEach(() => {
  bench = sourceBench();
});
afterEach(() => bench.close());

describe("symbolic links", () => {
  test("inside the repository are kept", async () => {
    bench.repository.commit({
      "a/file": "1",
      "b/link": { link: "../a/file" },
      loop: { link: "loop" },
      dangling: { link: "none" },
    });
    const { folder } = await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
    expect(readlinkSync(join(folder, "b/link"))).toBe("../a/file");
    expect(readFileSync(join(folder, "b/link"), "utf8")).toBe("1");
  });

  test.each([
    ["/etc/passwd", { link: { link: "/etc/passwd" } }],
    ["a parent folder", { "a/link": { link: "../../outside" } }],
    ["a parent folder by way of another link", { "d/up": { link: ".." }, link: { link: "d/up/../outside" } }],
  ] as const)("to %s are refused by name", async (_what, files) => {
    bench.repository.commit(files);
    const error = await errorOf(bench.fetcher().checkout(bench.spec(), "d1", bench.io()));
    expect(error.code).toBe("source.invalid");
    expect(error.message).toMatch(/The entry ".*link" is a symbolic link that leaves the folder/);
    expect(readdirSync(join(bench.base, "sources", "checkouts"))).toEqual([]);
  });
});

describe("submodules", () => {
  test("are those of .gitmodules itself, not of a file of this machine that it includes", async () => {
    const file = join(bench.base, "private");
    writeFileSync(file, "no settings for git\n");
    bench.repository.commit({ a: "1", ".gitmodules": `[include]\n\tpath = ${file}\n` });
    const { folder } = await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
    expect(tree(folder)).toEqual([".gitmodules", "a"]);
  });

  test("are fetched at the commit that is wanted, inside each other, by relative address", async () => {
    const lib = createRepository(join(bench.base, "repos", "lib"));
    const deep = createRepository(join(bench.base, "repos", "deep"));
    deep.commit({ "deep.txt": "deep" });
    lib.git("submodule", "add", "--quiet", "../deep", "nested/deep");
    lib.commit({ "lib.txt": "wanted" });
    bench.repository.git("submodule", "add", "--quiet", "../lib", "vendor/lib");
    bench.repository.commit({ "app.txt": "app" });
    lib.commit({ "lib.txt": "newer" });
    const { folder } = await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
    expect(readFileSync(join(folder, "vendor/lib/lib.txt"), "utf8")).toBe("wanted");
    expect(readFileSync(join(folder, "vendor/lib/nested/deep/deep.txt"), "utf8")).toBe("deep");
    expect(tree(folder).filter((name) => /(^|\/)\.git$/.test(name))).toEqual([]);
  });

  test("with a login of the same host are fetched by it", async () => {
    const login = { username: "me", password: "secret" };
    const lib = createRepository(join(bench.base, "repos", "lib"));
    lib.commit({ "lib.txt": "lib" });
    bench.repository.git("submodule", "add", "--quiet", "../lib", "lib");
    bench.repository.git("config", "-f", ".gitmodules", "submodule.lib.url", "../../lib/.git");
    bench.repository.commit({});
    const server = await bench.serve({ login });
    const request = bench.spec({
      repository: `${server.url}/app/.git`,
      credentials: basicCredentials([server.url], login),
    });
    const { folder } = await bench.fetcher().checkout(request, "d1", bench.io());
    expect(readFileSync(join(folder, "lib/lib.txt"), "utf8")).toBe("lib");
  });

  test("on the control plane's disk are refused to a repository from elsewhere", async () => {
    const lib = createRepository(join(bench.base, "repos", "lib"));
    lib.commit({ "lib.txt": "lib" });
    bench.repository.git("submodule", "add", "--quiet", lib.url, "lib");
    bench.repository.commit({});
    const server = await bench.serve();
    const error = await errorOf(
      bench.fetcher().checkout(bench.spec({ repository: `${server.url}/app/.git` }), "d1", bench.io()),
    );
    expect(error.code).toBe("source.invalid");
    expect(error.message).toContain('The submodule "lib" lies on the control plane');
  });
});
