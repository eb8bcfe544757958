import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createApplication,
  type Deployed,
  deploy,
  get,
  npmLockfile,
  plainServer,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

type Repository = ReturnType<typeof temporaryRepository>;

const EXPRESS = {
  name: "shop",
  version: "1.0.0",
  private: true,
  scripts: { start: "node index.js" },
  dependencies: { express: "4.21.2" },
};
const FASTIFY = {
  name: "notes",
  version: "1.0.0",
  private: true,
  type: "module",
  scripts: { start: "node app.js", build: "node build.js" },
  dependencies: { fastify: "5.6.1" },
};
const VITE = {
  name: "site",
  version: "1.0.0",
  private: true,
  type: "module",
  scripts: { dev: "vite", build: "vite build" },
  devDependencies: { vite: "8.3.4" },
};

/** A crash and a wrong port end the wait at once; an unhealthy answer after the start period, long enough for a start. */
const CHECK = {
  health_check_enabled: true,
  health_check_interval: 1,
  health_check_retries: 2,
  health_check_start_period: 60,
};

interface Breakage {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** What the sentence must say. */
  readonly says: RegExp;
  readonly settings?: object;
}

/** Ways in which a commit breaks an application. */
const BREAKAGES: readonly Breakage[] = [
  {
    name: "the build fails",
    files: { "build.js": "console.log('compiling'); process.exit(2);" },
    says: /build.*exited with code 2/i,
  },
  { name: "it crashes at start", files: { "app.js": "throw new Error('no configuration');" }, says: /exit|crash/i },
  {
    name: "it never gets healthy",
    files: {
      "app.js":
        "import http from 'node:http'; http.createServer((q, r) => { r.statusCode = 500; r.end(); }).listen(process.env.PORT);",
    },
    says: /500/,
    settings: { health_check_start_period: 15 },
  },
  {
    name: "it listens on another port",
    files: {
      "app.js":
        "import http from 'node:http'; http.createServer((q, r) => r.end()).listen(0, function () { console.log(this.address().port); });",
    },
    says: /listens on port \d+/i,
  },
];

describe("applications that were not written for Berth", () => {
  let server: TestServer;
  const repositories: Repository[] = [];
  const repository = (files: Parameters<typeof temporaryRepository>[0]) => {
    const made = temporaryRepository(files);
    repositories.push(made);
    return made;
  };
  beforeAll(async () => {
    server = await testServer();
  });
  afterAll(async () => {
    await server.dispose();
    for (const made of repositories) made.dispose();
  });

  it("runs an Express server from its npm lockfile, and the next commit in its place", async () => {
    const source = repository({
      "package.json": JSON.stringify(EXPRESS),
      "package-lock.json": npmLockfile(EXPRESS),
      "index.js": "require('express')().get('/', (q, r) => r.send('first')).listen(process.env.PORT);",
    });
    const shop = await createApplication(server, source, { name: "shop" });
    expect(await deploy(server, shop.uuid)).toMatchObject({ status: "finished" });
    expect(await get(server, shop.host)).toEqual({ status: 200, body: "first" });

    source.commit({
      "index.js": "require('express')().get('/', (q, r) => r.send('second')).listen(process.env.PORT);",
    });
    expect(await deploy(server, shop.uuid)).toMatchObject({ status: "finished" });
    expect(await get(server, shop.host)).toEqual({ status: 200, body: "second" });
  });

  it("builds a Vite site and serves its files, with index.html for the paths of its router", async () => {
    const source = repository({
      "package.json": JSON.stringify(VITE),
      "package-lock.json": npmLockfile(VITE),
      "index.html":
        '<!doctype html><title>Site</title><div id="app"></div><script type="module" src="/main.js"></script>',
      "main.js": "document.querySelector('#app').textContent = 'built';",
    });
    const site = await createApplication(server, source, { name: "site", is_spa: true });
    const outcome = await deploy(server, site.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const page = await get(server, site.host);
    expect(page).toMatchObject({ status: 200, body: expect.stringContaining("<title>Site</title>") });
    const [, asset = ""] = /src="(\/assets\/[^"]+\.js)"/.exec(page.body) ?? [];
    expect(await get(server, site.host, asset)).toMatchObject({ status: 200, body: expect.stringContaining("built") });
    expect(await get(server, site.host, "/about")).toMatchObject({ status: 200, body: page.body });
  });

  describe("a Fastify server with a build", () => {
    let source: Repository;
    let notes: Deployed;
    beforeAll(async () => {
      source = repository({
        "package.json": JSON.stringify(FASTIFY),
        "package-lock.json": npmLockfile(FASTIFY),
        "build.js": "console.log('compiled');",
        "app.js":
          "import fastify from 'fastify'; const app = fastify(); app.get('/', () => 'notes'); await app.listen({ port: process.env.PORT, host: '0.0.0.0' });",
      });
      notes = await createApplication(server, source, { name: "notes", ...CHECK });
      const outcome = await deploy(server, notes.uuid);
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      expect(outcome.log).toContain("compiled");
    });

    it.each(BREAKAGES)(
      "keeps serving the old release when $name, and says why",
      async ({ files, says, settings = {} }) => {
        await server.rest("PATCH", `/applications/${notes.uuid}`, { ...CHECK, ...settings });
        source.commit(files);
        const outcome = await deploy(server, notes.uuid);
        expect(outcome.status).toBe("failed");
        expect(outcome.error, outcome.log).toMatch(says);
        expect(outcome.error?.split("\n")).toHaveLength(1);
        expect(await get(server, notes.host)).toEqual({ status: 200, body: "notes" });
        source.git("revert", "--no-edit", "HEAD");
      },
    );
  });

  it("shows the last lines of an application that crashes at start", async () => {
    const source = repository({
      ...plainServer("one"),
      "server.js": "console.log('reading settings'); throw new Error('SETTINGS is missing');",
    });
    const plain = await createApplication(server, source, { name: "crashing" });
    const outcome = await deploy(server, plain.uuid);
    expect(outcome.status).toBe("failed");
    expect(outcome.log).toContain("SETTINGS is missing");
    expect((await get(server, plain.host)).status).toBeGreaterThanOrEqual(404);
  });
});
