import { lstatSync, readdirSync, readFileSync } from "node:fs";
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

describe("checkout over http", () => {
  const login = { username: "ada@example.com", password: "p/@ss:word'\"$x" };

  test("uses the login, which stands in no argument, file or line that stays", async () => {
    const tip = bench.repository.commit({ a: "1" });
    const server = await bench.serve({ login });
    const request = bench.spec({
      repository: `${server.url}/app/.git`,
      credentials: basicCredentials([server.url], login),
    });
    expect((await bench.fetcher().checkout(request, "d1", bench.io())).commit).toBe(tip);
    expect(readdirSync(join(bench.base, "sources", "tmp"))).toEqual([]);
    const kept = tree(join(bench.base, "sources"))
      .map((name) => join(bench.base, "sources", name))
      .filter((file) => lstatSync(file).isFile());
    for (const file of kept) expect(readFileSync(file, "latin1")).not.toContain("p/@ss");
    expect(bench.lines.join("\n")).not.toContain("p/@ss");
  });

  test("takes a login out of the address", async () => {
    bench.repository.commit({ a: "1" });
    const server = await bench.serve({ login });
    const { username, password } = login;
    const withLogin = `http://${encodeURIComponent(username)}:${encodeURIComponent(password)}@127.0.0.1:${server.port}/app/.git`;
    // A quote cannot occur in an address; encodeURIComponent leaves ' unchanged.
    await bench.fetcher().checkout(bench.spec({ repository: withLogin.replaceAll("'", "%27") }), "d1", bench.io());
    const wrong = `http://ada:hunter2@127.0.0.1:${server.port}/app/.git`;
    const error = await errorOf(bench.fetcher().checkout(bench.spec({ repository: wrong }), "d1", bench.io()));
    expect(error.code).toBe("source.unauthorized");
    expect(error.message + bench.lines.join()).not.toContain("hunter2");
  });

  test("tells apart a missing login, a wrong one and a missing repository", async () => {
    bench.repository.commit({ a: "1" });
    const locked = await bench.serve({ login });
    const open = await bench.serve();
    const ask = (url: string, credentials?: { username: string; password: string }) =>
      errorOf(
        bench.fetcher().checkout(
          bench.spec({
            repository: url,
            ...(credentials ? { credentials: basicCredentials([url], credentials) } : {}),
          }),
          "d1",
          bench.io(),
        ),
      );
    expect(await ask(`${locked.url}/app/.git`)).toEqual({
      code: "source.unauthorized",
      message: `127.0.0.1 asks for a login: ${locked.url}/app/.git is private or does not exist. Check the address, or add a login.`,
    });
    expect((await ask(`${locked.url}/app/.git`, { username: "x", password: "y" })).message).toContain(
      "does not accept the login",
    );
    expect(await ask(`${open.url}/nope`)).toEqual({
      code: "source.not_found",
      message: `No repository found at ${open.url}/nope. Check the address and its permissions.`,
    });
  });

  test("says which host and port do not answer", async () => {
    const server = await bench.serve();
    await server.close();
    const error = await errorOf(
      bench.fetcher().checkout(bench.spec({ repository: `${server.url}/app` }), "d1", bench.io()),
    );
    expect(error.code).toBe("source.unreachable");
    expect(error.message).toContain(`127.0.0.1 does not answer on port ${server.port}: connect ECONNREFUSED`);
    const unknown = await errorOf(
      bench.fetcher().checkout(bench.spec({ repository: "https://nohost.invalid/a" }), "d1", bench.io()),
    );
    expect(unknown.code).toBe("source.unreachable");
    expect(unknown.message).toContain("nohost.invalid");
  });

  test("reaches no private address unless the instance allows it, redirected or not", async () => {
    bench.repository.commit({ a: "1" });
    const inner = await bench.serve();
    const refused = await errorOf(
      bench
        .fetcher({ allowedPrivateHosts: [] })
        .checkout(bench.spec({ repository: `${inner.url}/app/.git` }), "d1", bench.io()),
    );
    expect(refused.code).toBe("source.invalid");
    expect(refused.message).toContain("is a private address");
    expect(inner.requests).toEqual([]);

    const hidden = await bench.serve({ host: "127.0.0.2" });
    const outer = await bench.serve({
      intercept: (request, response) => {
        response.writeHead(302, { location: `${hidden.url}${request.url}` }).end();
        return true;
      },
    });
    const redirected = await errorOf(
      bench.fetcher().checkout(bench.spec({ repository: `${outer.url}/app/.git` }), "d1", bench.io()),
    );
    expect(redirected.message).toContain("127.0.0.2 is a private address");
    expect(hidden.requests).toEqual([]);
  });

  test("follows a redirect on the host, and in no circle", async () => {
    const tip = bench.repository.commit({ a: "1" });
    const server = await bench.serve({
      login,
      intercept: (request, response) => {
        if (request.url?.startsWith("/loop/")) response.writeHead(302, { location: request.url }).end();
        else if (request.url?.startsWith("/old/"))
          response.writeHead(301, { location: request.url.replace("/old/", "/app/") }).end();
        else if (request.url?.startsWith("/page/")) response.writeHead(302, { location: "/login" }).end();
        return response.headersSent;
      },
    });
    const ask = (path: string) =>
      bench
        .fetcher()
        .checkout(
          bench.spec({ repository: `${server.url}${path}`, credentials: basicCredentials([server.url], login) }),
          "d1",
          bench.io(),
        );
    expect((await ask("/old/.git")).commit).toBe(tip);
    expect((await errorOf(ask("/loop/.git"))).message).toContain("redirects in a circle");
    expect((await errorOf(ask("/page/.git"))).message).toContain("to an address that is not a repository");
  });

  test.each(["127.0.0.2", "127.0.0.1"])("gives a login to no other origin: another port of %s", async (host) => {
    bench.repository.commit({ a: "1" });
    const authorizations: (string | undefined)[] = [];
    const other = await bench.serve({
      host,
      intercept: (request, response) => {
        authorizations.push(request.headers.authorization);
        response.writeHead(401, { "www-authenticate": 'Basic realm="x"' }).end();
        return true;
      },
    });
    const server = await bench.serve({
      intercept: (request, response) => {
        response.writeHead(302, { location: `${other.url}${request.url}` }).end();
        return true;
      },
    });
    const request = bench.spec({
      repository: `${server.url}/app/.git`,
      credentials: basicCredentials([server.url], login),
    });
    const error = await errorOf(
      bench.fetcher({ allowedPrivateHosts: ["127.0.0.0/8"] }).checkout(request, "d1", bench.io()),
    );
    expect(error.message).toContain(`${host} asks for a login`);
    expect(new Set(authorizations)).toEqual(new Set([undefined]));
  });

  test("sends no login over plain http beyond this machine", async () => {
    const request = bench.spec({
      repository: "http://git.example/app.git",
      credentials: basicCredentials(["http://git.example"], login),
    });
    const error = await errorOf(
      bench.fetcher({ allowedPrivateHosts: ["127.0.0.0/8"] }).checkout(request, "d1", bench.io()),
    );
    expect([error.code, error.message]).toEqual([
      "source.unauthorized",
      expect.stringContaining("Use an https address"),
    ]);
  });

  test("gives the login to no submodule of another host", async () => {
    const lib = createRepository(join(bench.base, "repos", "lib"));
    lib.commit({ "lib.txt": "lib" });
    const authorizations: (string | undefined)[] = [];
    const other = await bench.serve({
      host: "127.0.0.2",
      login: { username: "another", password: "login" },
      intercept: (request) => {
        authorizations.push(request.headers.authorization);
        return false;
      },
    });
    bench.repository.git("submodule", "add", "--quiet", "../lib", "lib");
    bench.repository.git("config", "-f", ".gitmodules", "submodule.lib.url", `${other.url}/lib/.git`);
    bench.repository.commit({});
    const server = await bench.serve({ login });
    const request = bench.spec({
      repository: `${server.url}/app/.git`,
      credentials: basicCredentials([server.url], login),
    });
    const error = await errorOf(
      bench.fetcher({ allowedPrivateHosts: ["127.0.0.0/8"] }).checkout(request, "d1", bench.io()),
    );
    expect(error.message).toContain("127.0.0.2 asks for a login");
    expect(new Set(authorizations)).toEqual(new Set([undefined]));
  });
});
