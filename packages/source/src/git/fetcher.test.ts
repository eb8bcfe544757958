import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { errorOf, type SourceBench, sourceBench, tree } from "./source.fixture.ts";

let bench: SourceBench;
beforeEach(() => {
  bench = sourceBench();
});
afterEach(() => bench.close());

describe("checkout of a branch", () => {
  test("holds the files of the tip and nothing of git", async () => {
    bench.repository.commit({ "a.txt": "1", "bin/run": { script: "#!/bin/sh\n" }, "sub/b.txt": "2" }, "First\n\nbody");
    const tip = bench.repository.commit({ "a.txt": "3" }, "Second change\nmore");
    const { folder, commit, message } = await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
    expect({ commit, message }).toEqual({ commit: tip, message: "Second change" });
    expect(tree(folder)).toEqual(["a.txt", "bin", "bin/run", "sub", "sub/b.txt"]);
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("3");
    expect(statSync(join(folder, "bin/run")).mode & 0o111).not.toBe(0);
    expect(bench.lines).toContain(`Commit ${tip.slice(0, 12)}: Second change`);
  });

  test("follows the branch, also after a forced push and beside a branch that took its name as a folder", async () => {
    const source = bench.fetcher();
    bench.repository.commit({ a: "1" });
    bench.repository.git("branch", "feature");
    await source.checkout(bench.spec({ branch: "feature" }), "d1", bench.io());
    bench.repository.git("branch", "-D", "feature");
    bench.repository.git("branch", "feature/one");
    const forced = bench.repository.commit({ a: "2" }, "Amended");
    bench.repository.git("reset", "--hard", "HEAD~1");
    const replaced = bench.repository.commit({ a: "4" });
    expect((await source.checkout(bench.spec(), "d2", bench.io())).commit).toBe(replaced);
    expect(replaced).not.toBe(forced);
    await source.checkout(bench.spec({ branch: "feature/one" }), "d3", bench.io());
  });

  test("takes the default branch of the repository when none is named", async () => {
    bench.repository.commit({ a: "1" });
    bench.repository.git("branch", "-m", "main", "trunk");
    const { commit } = await bench.fetcher().checkout(bench.spec({ branch: "" }), "d1", bench.io());
    expect(commit).toBe(bench.repository.git("rev-parse", "trunk"));
  });

  test("is named by a repository that has commits", async () => {
    const address = bench.repository.url;
    const ask = () => bench.fetcher().defaultBranch(address, AbortSignal.timeout(30_000));
    expect(await errorOf(ask())).toMatchObject({
      code: "source.not_found",
      message: expect.stringContaining("no commits"),
    });
    bench.repository.commit({ a: "1" });
    bench.repository.git("branch", "-m", "main", "trunk/two");
    expect(await ask()).toBe("trunk/two");
    const missing = await errorOf(bench.fetcher().defaultBranch(`${address}-missing`, AbortSignal.timeout(30_000)));
    expect(missing.code).toBe("source.not_found");
  });

  test("takes a full ref such as a pull request's", async () => {
    const tip = bench.repository.commit({ a: "1" });
    bench.repository.git("update-ref", "refs/pull/7/head", tip);
    expect((await bench.fetcher().checkout(bench.spec({ branch: "refs/pull/7/head" }), "d1", bench.io())).commit).toBe(
      tip,
    );
  });

  test("names the branch that is missing and those that exist", async () => {
    bench.repository.commit({ a: "1" });
    for (const name of ["b1", "b2", "b3", "b4", "b5"]) bench.repository.git("branch", name);
    const error = await errorOf(bench.fetcher().checkout(bench.spec({ branch: "nope" }), "d1", bench.io()));
    expect(error.code).toBe("source.not_found");
    expect(error.message).toMatch(/has no branch nope\. It has (\w+, ){4}\w+\. Correct git_branch\.$/);
  });

  test("says that a repository has no commits", async () => {
    const error = await errorOf(bench.fetcher().checkout(bench.spec(), "d1", bench.io()));
    expect(error).toEqual({
      code: "source.not_found",
      message: `${bench.repository.url} has no commits yet. Push one and deploy again.`,
    });
  });

  test("replaces an earlier checkout of the deployment and removes it twice without complaint", async () => {
    const source = bench.fetcher();
    bench.repository.commit({ a: "1" });
    await source.checkout(bench.spec(), "d1", bench.io());
    bench.repository.commit({ a: null, b: "2" });
    const { folder } = await source.checkout(bench.spec(), "d1", bench.io());
    expect(tree(folder)).toEqual(["b"]);
    await source.removeCheckout("d1");
    await source.removeCheckout("d1");
    expect(existsSync(folder)).toBe(false);
  });

  test("keeps what export-ignore and export-subst would leave out or rewrite", async () => {
    bench.repository.commit({
      ".gitattributes": "docs export-ignore\nversion export-subst\nsub/** export-ignore\n",
      "docs/a": "1",
      "sub/b": "2",
      version: "$Format:%H$",
    });
    const { folder } = await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
    expect(tree(folder)).toEqual([".gitattributes", "docs", "docs/a", "sub", "sub/b", "version"]);
    expect(readFileSync(join(folder, "version"), "utf8")).toBe("$Format:%H$");
  });
});

describe("checkout of a commit", () => {
  test.each<[string, (first: string) => string]>([
    ["a full id", (first) => first],
    ["a shortened id", (first) => first.slice(0, 8)],
    ["a tag", () => "v1"],
    ["an annotated tag", () => "v1-annotated"],
  ])("finds %s", async (_what, name) => {
    const first = bench.repository.commit({ a: "1" });
    bench.repository.git("tag", "v1");
    bench.repository.git("tag", "-a", "-m", "annotated", "v1-annotated");
    bench.repository.commit({ a: "2" });
    const { folder, commit } = await bench.fetcher().checkout(bench.spec({ commit: name(first) }), "d1", bench.io());
    expect(commit).toBe(first);
    expect(readFileSync(join(folder, "a"), "utf8")).toBe("1");
  });

  test("asks the server for an id that no branch holds", async () => {
    bench.repository.commit({ a: "1" });
    const lost = bench.repository.commit({ a: "2" });
    bench.repository.git("reset", "--hard", "HEAD~1");
    bench.repository.git("config", "uploadpack.allowAnySHA1InWant", "true");
    expect((await bench.fetcher().checkout(bench.spec({ commit: lost }), "d1", bench.io())).commit).toBe(lost);
  });

  test.each([
    [
      "0123456789012345678901234567890123456789",
      "has no commit 0123456789012345678901234567890123456789. Check the id",
    ],
    ["abcdef1", "has no commit abcdef1. Give more of its id"],
    ["abcdef", "has no tag abcdef. It has v1."],
    ["v9", "has no tag v9. It has v1. Correct git_commit_sha."],
  ])("names %s when it is missing", async (commit, text) => {
    bench.repository.commit({ a: "1" });
    bench.repository.git("tag", "v1");
    const error = await errorOf(bench.fetcher().checkout(bench.spec({ commit }), "d1", bench.io()));
    expect(error.code).toBe("source.not_found");
    expect(error.message).toContain(text);
  });
});

describe("the mirror", () => {
  test("gives what one owner has fetched to no other", async () => {
    bench.repository.commit({ a: "1" });
    const secret = bench.repository.commit({ secret: "2" });
    const source = bench.fetcher();
    await source.checkout(bench.spec(), "d1", bench.io());
    // The server no longer has the commit.
    bench.repository.git("reset", "--hard", "HEAD~1");
    bench.repository.git("reflog", "expire", "--expire=now", "--all");
    bench.repository.git("gc", "--quiet", "--prune=now");
    for (const commit of [secret, secret.slice(0, 8)]) {
      const own = await source.checkout(bench.spec({ commit }), "d2", bench.io());
      expect(own.commit).toBe(secret);
      for (const cacheOwner of ["team 2", "team 1, key 7"]) {
        const error = await errorOf(source.checkout(bench.spec({ commit, cacheOwner }), "d3", bench.io()));
        expect([error.code, error.message]).toEqual([
          "source.not_found",
          expect.stringContaining(`has no commit ${commit}`),
        ]);
      }
    }
  });

  test("of a login in the address is that login's own", async () => {
    const login = { username: "ada", password: "hunter22" };
    const secret = bench.repository.commit({ secret: "1" });
    const server = await bench.serve({ login });
    const repository = `http://ada:hunter22@127.0.0.1:${server.port}/app/.git`;
    await bench.fetcher().checkout(bench.spec({ repository }), "d1", bench.io());
    const open = { repository: `${server.url}/app/.git`, commit: secret };
    expect((await errorOf(bench.fetcher().checkout(bench.spec(open), "d2", bench.io()))).code).toBe(
      "source.unauthorized",
    );
    expect(readdirSync(join(bench.base, "sources", "mirrors"))).toHaveLength(2);
  });

  test("serves several checkouts of a repository at once", async () => {
    const tip = bench.repository.commit({ a: "1" });
    const source = bench.fetcher();
    const checkouts = await Promise.all(
      ["d1", "d2", "d3", "d4"].map((uuid) => source.checkout(bench.spec(), uuid, bench.io())),
    );
    expect(checkouts.map(({ commit }) => commit)).toEqual([tip, tip, tip, tip]);
    expect(readdirSync(join(bench.base, "sources", "mirrors"))).toHaveLength(1);
  });

  test("is used by two processes at once", async () => {
    bench.repository.commit({ a: "1" });
    const sources = [bench.fetcher(), bench.fetcher(), bench.fetcher()];
    for (let round = 0; round < 3; round++) {
      const tip = bench.repository.commit({ a: `round ${round}` });
      const found = await Promise.all(
        sources.map((source, index) => source.checkout(bench.spec(), `d${index}`, bench.io())),
      );
      expect(found.map(({ commit }) => commit)).toEqual([tip, tip, tip]);
    }
  });

  test.each([
    ["a broken pack", (mirror: string) => rmSync(join(mirror, "objects"), { recursive: true })],
    ["no HEAD", (mirror: string) => rmSync(join(mirror, "HEAD"))],
    ["a lock that a killed git left", (mirror: string) => mkdirSync(join(mirror, "packed-refs.lock"))],
  ])("is made anew when it has %s", async (_what, harm) => {
    const source = bench.fetcher();
    bench.repository.commit({ a: "1" });
    bench.repository.git("branch", "gone");
    await source.checkout(bench.spec(), "d1", bench.io());
    const mirrors = join(bench.base, "sources", "mirrors");
    harm(join(mirrors, String(readdirSync(mirrors)[0])));
    bench.repository.git("branch", "-D", "gone");
    const tip = bench.repository.commit({ a: "2" });
    expect((await source.checkout(bench.spec(), "d2", bench.io())).commit).toBe(tip);
  });
});

describe("limits", () => {
  test("stop a repository that is too large and keep nothing of it", async () => {
    bench.repository.commit({ big: randomBytes(300_000) });
    const source = bench.fetcher({ limits: { repositoryBytes: 100_000 } });
    const error = await errorOf(source.checkout(bench.spec(), "d1", bench.io()));
    expect(error.code).toBe("source.invalid");
    expect(error.message).toContain("the limit of a repository");
    expect(readdirSync(join(bench.base, "sources", "mirrors"))).toEqual([]);
    expect(readdirSync(join(bench.base, "sources", "checkouts"))).toEqual([]);
  });

  test("stop a fetch that is still running, and keep nothing of it either", async () => {
    bench.repository.commit({ big: randomBytes(300_000) });
    let answers = true;
    const server = await bench.serve({ intercept: () => !answers });
    const spec = bench.spec({ repository: `${server.url}/app` });
    await bench.fetcher().checkout(spec, "d1", bench.io());
    const mirrors = () => readdirSync(join(bench.base, "sources", "mirrors"));
    expect(mirrors()).toHaveLength(1);
    answers = false;
    const error = await errorOf(
      bench.fetcher({ limits: { repositoryBytes: 100_000 } }).checkout(spec, "d2", bench.io()),
    );
    expect(error).toMatchObject({ code: "source.invalid", message: expect.stringContaining("limit of a repository") });
    expect(mirrors()).toEqual([]);
  });

  test("stop a checkout with too many files or bytes", async () => {
    bench.repository.commit({ a: "1", b: "2", c: "3".repeat(1000) });
    const many = await errorOf(bench.fetcher({ limits: { entries: 2 } }).checkout(bench.spec(), "d1", bench.io()));
    const large = await errorOf(
      bench.fetcher({ limits: { unpackedBytes: 500 } }).checkout(bench.spec(), "d1", bench.io()),
    );
    expect([many.code, large.code]).toEqual(["request.too_large", "request.too_large"]);
    expect(readdirSync(join(bench.base, "sources", "checkouts"))).toEqual([]);
  });

  test("end a server that never answers", async () => {
    const server = await bench.serve({ intercept: () => true });
    const source = bench.fetcher({ limits: { fetchSeconds: 0.5 } });
    const error = await errorOf(source.checkout(bench.spec({ repository: `${server.url}/app` }), "d1", bench.io()));
    expect(error).toMatchObject({ code: "source.unreachable" });
    expect(error.message).toContain("was not fetched within 0.5 seconds");
  });
});

describe("cancelling", () => {
  test("ends git and leaves no checkout", async () => {
    const controller = new AbortController();
    const server = await bench.serve({
      intercept: () => {
        controller.abort();
        return true;
      },
    });
    const work = bench
      .fetcher()
      .checkout(bench.spec({ repository: `${server.url}/app` }), "d1", bench.io(controller.signal));
    expect((await errorOf(work)).code).toBe("deploy.cancelled");
    expect(readdirSync(join(bench.base, "sources", "checkouts"))).toEqual([]);
    expect(readdirSync(join(bench.base, "sources", "tmp"))).toEqual([]);
  });

  test("ends the wait for a mirror that another deployment uses, and not that one", async () => {
    const tip = bench.repository.commit({ a: "1" });
    const controller = new AbortController();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const server = await bench.serve({
      intercept: (request, response) => {
        if (!request.url?.startsWith("/hold")) return false;
        const location = request.url.replace("/hold", "/app");
        void held.then(() => response.writeHead(302, { location }).end());
        isAsked();
        return true;
      },
    });
    const source = bench.fetcher();
    const first = source.checkout(bench.spec({ repository: `${server.url}/hold/.git` }), "d1", bench.io());
    await asked;
    const second = source.checkout(
      bench.spec({ repository: `${server.url}/hold/.git` }),
      "d2",
      bench.io(controller.signal),
    );
    controller.abort();
    expect((await errorOf(second)).code).toBe("deploy.cancelled");
    release();
    expect((await first).commit).toBe(tip);
  });
});

describe("file://", () => {
  test("is refused unless the local server is the target, and never reaches into private folders", async () => {
    bench.repository.commit({ a: "1" });
    const refused = await errorOf(bench.fetcher({ allowFileProtocol: false }).checkout(bench.spec(), "d1", bench.io()));
    expect(refused.message).toContain("local server only");
    const source = bench.fetcher({ privateFolders: [join(bench.base, "repos")] });
    expect((await errorOf(source.checkout(bench.spec(), "d1", bench.io()))).message).toContain(
      "belongs to the control plane",
    );
    await bench.fetcher().checkout(bench.spec(), "d1", bench.io());
    const mirror = join(
      bench.base,
      "sources",
      "mirrors",
      String(readdirSync(join(bench.base, "sources", "mirrors"))[0]),
    );
    const own = await errorOf(
      bench.fetcher().checkout(bench.spec({ repository: `file://${mirror}` }), "d2", bench.io()),
    );
    expect(own.message).toContain("belongs to the control plane");
  });

  test("says that a folder is missing or is no repository", async () => {
    mkdirSync(join(bench.base, "plain"));
    const missing = await errorOf(
      bench.fetcher().checkout(bench.spec({ repository: `file://${bench.base}/nope` }), "d1", bench.io()),
    );
    const plain = await errorOf(
      bench.fetcher().checkout(bench.spec({ repository: `file://${bench.base}/plain` }), "d1", bench.io()),
    );
    expect([missing.code, plain.code]).toEqual(["source.not_found", "source.not_found"]);
  });
});

test("an application without source gets an empty folder", async () => {
  const { folder } = await bench.fetcher().checkout({ type: "none" }, "d1", bench.io());
  expect(readdirSync(folder)).toEqual([]);
});
