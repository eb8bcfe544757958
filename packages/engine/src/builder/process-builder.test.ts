import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type BuildBench, buildBench, runtimeFolder, USER } from "./build.fixture.ts";

let runtime: { folder: string; path: string };
beforeAll(async () => {
  runtime = await runtimeFolder();
});
afterAll(() => rmSync(runtime.folder, { recursive: true, force: true }));

let bench: BuildBench;
beforeEach(() => {
  bench = buildBench(runtime.path);
});
afterEach(() => bench.close());

const SERVER = `require("node:http").createServer((q, r) => r.end("is 5 a number: " + require("is-number")("5")))
  .listen(process.env.PORT, "127.0.0.1")`;
const NUMBER_APP = JSON.stringify({
  dependencies: { "is-number": "7.0.0" },
  devDependencies: { "is-odd": "3.0.1" },
  scripts: {
    build: "node -e \"require('is-odd');require('fs').writeFileSync('built',process.env.NODE_ENV)\"",
    start: "node server.js",
  },
});

describe("a Node application", () => {
  test("with Express and an npm lockfile is installed, built and answers", async () => {
    const packageJson = JSON.stringify({ dependencies: { express: "5.1.0" }, scripts: { start: "node server.js" } });
    const lock = await bench.lockfile(packageJson, ["npm", "install", "--package-lock-only"], "package-lock.json");
    const server = `require("express")().get("/", (q, r) => r.send("express answers")).listen(process.env.PORT, "127.0.0.1")`;
    const files = { "package.json": packageJson, "package-lock.json": lock, "server.js": server };
    const artifact = await bench.build({ files });
    expect(artifact.detected).toBe("Node.js (npm)");
    expect(bench.lines).toContain("$ npm ci");
    expect(await bench.answerOf(artifact)).toBe("express answers");
    if (USER !== undefined) {
      expect(lstatSync(join(artifact.folder, "server.js")).uid).toBe(USER.uid);
      expect(lstatSync(join(artifact.folder, "node_modules/express")).uid).toBe(USER.uid);
    }
    // The second build takes its packages from the cache: it works without network.
    const again = await bench.build({ files, env: { npm_config_offline: "true" } });
    expect(existsSync(join(again.folder, "node_modules/express"))).toBe(true);
    rmSync(join(bench.base, "cache"), { recursive: true });
    expect(await bench.refusal({ files, env: { npm_config_offline: "true" } })).toContain(
      "`npm ci` exited with code 1",
    );
  });

  test.each([
    ["pnpm", ["pnpm", "install", "--lockfile-only"], "pnpm-lock.yaml", "$ pnpm install --frozen-lockfile"],
    ["yarn", ["yarn", "install"], "yarn.lock", "$ yarn install --frozen-lockfile --production=false"],
  ] as const)(
    "with a lockfile of %s is installed with what its build needs",
    { timeout: 120_000 },
    async (name, argv, file, line) => {
      const files = {
        "package.json": NUMBER_APP,
        [file]: await bench.lockfile(NUMBER_APP, argv, file),
        "server.js": SERVER,
      };
      const artifact = await bench.build({ files, env: { NODE_ENV: "production" } });
      expect(artifact.detected).toBe(`Node.js (${name})`);
      expect(bench.lines).toContain(line);
      expect(bench.lines).toContain(`$ ${name} run build`);
      expect(readFileSync(join(artifact.folder, "built"), "utf8")).toBe("production");
      expect(await bench.answerOf(artifact)).toBe("is 5 a number: true");
    },
  );

  test("in a workspace is installed from the lockfile above it", async () => {
    const root = JSON.stringify({ private: true, workspaces: ["apps/*"] });
    const files = { "package.json": root, "apps/web/package.json": NUMBER_APP, "apps/web/server.js": SERVER };
    const artifact = await bench.build({ files, config: { base_directory: "/apps/web" } });
    expect(await bench.answerOf(artifact)).toBe("is 5 a number: true");
    const lock = readFileSync(join(artifact.folder, "package-lock.json"), "utf8");
    const locked = await bench.build({
      files: { ...files, "package-lock.json": lock },
      config: { base_directory: "/apps/web" },
    });
    expect(bench.lines).toContain("$ npm ci");
    expect(await bench.answerOf(locked)).toBe("is 5 a number: true");
  });

  test("whose lockfile is out of date says so", async () => {
    const lock = await bench.lockfile(NUMBER_APP, ["npm", "install", "--package-lock-only"], "package-lock.json");
    const packageJson = NUMBER_APP.replace('"7.0.0"', '"6.0.0"');
    expect(await bench.refusal({ files: { "package.json": packageJson, "package-lock.json": lock } })).toBe(
      "deploy.build_failed The install command `npm ci` exited with code 1. " +
        "The lockfile does not match package.json: install on your machine and commit the lockfile.",
    );
  });

  test("that asks for another Node is warned and built", async () => {
    const packageJson = JSON.stringify({ engines: { node: "^12" }, main: "a.js" });
    await bench.build({ files: { "package.json": packageJson, "a.js": "" } });
    expect(bench.lines.join("\n")).toMatch(
      /Warning: package\.json asks for Node \^12; this server runs applications on Node 2\d/,
    );
  });
});

describe("a static site", () => {
  test("of Vite is built and published for its router", async () => {
    const packageJson = JSON.stringify({
      devDependencies: { vite: "7.1.0" },
      scripts: { build: "vite build", start: "vite" },
    });
    const files = {
      "package.json": packageJson,
      "index.html": '<div id="app"></div><script type="module" src="/main.js"></script>',
      "main.js": 'document.querySelector("#app").textContent = "built by vite";',
    };
    const { run: how, detected, workingFolder } = await bench.build({ files });
    expect({ how, detected }).toEqual({
      how: { type: "static", root: "dist", isSpa: true },
      detected: "Vite, static (npm)",
    });
    const assets = join(workingFolder, "dist/assets");
    expect(readFileSync(join(assets, String(readdirSync(assets)[0])), "utf8")).toContain("built by vite");
  });

  test("without anything to build is published as it is", async () => {
    const artifact = await bench.build({ files: { "index.html": "hello", "a/b.css": "" } });
    expect(artifact).toMatchObject({ detected: "Static files", run: { type: "static", root: ".", isSpa: false } });
    expect(resolve(artifact.workingFolder)).toBe(artifact.folder);
  });

  test("is published from the folder that the build makes", async () => {
    const made = { build_command: "mkdir -p out/x && echo hi > out/index.html", is_static: true };
    expect((await bench.build({ files: { "a.txt": "" }, config: made })).run).toMatchObject({ root: "out" });
    const named = { build_command: "mkdir -p site && echo hi > site/a.html", publish_directory: "/site" };
    expect((await bench.build({ files: { "a.txt": "" }, config: named })).run).toMatchObject({ root: "site" });
    const angular = {
      files: { "package.json": '{"devDependencies":{"@angular/cli":"1"}}' },
      config: { install_command: "", build_command: "mkdir -p dist/app/browser && touch dist/app/browser/index.html" },
    };
    expect((await bench.build(angular)).run).toMatchObject({ root: "dist/app/browser", isSpa: true });
  });

  test("that is not where it should be says what there is", async () => {
    expect(await bench.refusal({ files: { "a.txt": "" }, config: { is_static: true } })).toBe(
      "deploy.build_failed No index.html to serve was found in /dist, /build, /out, /public, /_site, /. " +
        "The folder contains a.txt. Set publish_directory to the folder with the built files.",
    );
    expect(await bench.refusal({ files: { "a.txt": "" }, config: { publish_directory: "/dist" } })).toBe(
      "deploy.build_failed The publish_directory /dist is not a folder after the build. The release contains a.txt. Correct it.",
    );
  });
});

test("a Procfile of Python runs in an environment of its own", async () => {
  if (!existsSync("/usr/bin/python3"))
    return console.log("Skipped the test of Python: /usr/bin/python3 is not installed");
  const server = [
    "import http.server, os",
    "class H(http.server.BaseHTTPRequestHandler):",
    "    def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(os.sys.prefix.encode())",
    "http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), H).serve_forever()",
  ].join("\n");
  const artifact = await bench.build({
    files: { "requirements.txt": "# none\n", Procfile: "web: python app.py\n", "app.py": server },
    options: { networkEnv: { PIP_NO_INDEX: "1" } },
  });
  expect(artifact.detected).toBe("Python, Procfile");
  expect(await bench.answerOf(artifact)).toBe(join(artifact.folder, ".venv"));
});
