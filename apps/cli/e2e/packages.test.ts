import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { VERSION } from "@berth/core";
import { CHROMIUM, CHROMIUM_FLAGS, hasChromium } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type TestServer, testServer } from "../../server/e2e/server.fixture.ts";
import { type TemporaryFolder, temporaryFolder } from "../src/temporary-folder.fixture.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BIN = join(ROOT, "node_modules/.bin");
/** Packing and installing: some seconds, many on a busy machine. */
const INSTALL_MS_MAX = 300_000;

/** As somebody writes it who installed the package. */
const SCRIPT = `import { createClient, problemOf } from "@berth/client";
const [url, token] = globalThis.process === undefined ? globalThis.berth : process.argv.slice(2);
const client = createClient({ url, token });
const lines = [await client.version.query()];
lines.push((await client.projects.list.query({})).map(({ name }) => name).join());
try {
  await client.projects.get.query({ uuid: "nope" });
} catch (error) {
  lines.push(problemOf(error)?.code);
}
console.log(lines.join("\\n"));
if (globalThis.document !== undefined) await fetch("/", { method: "POST", body: lines.join("\\n") });
`;

const TYPES = `import { createClient, problemOf, type Inputs, type Outputs } from "@berth/client";
const client = createClient({ url: "http://127.0.0.1:8000", token: "1|x" });
export async function names(): Promise<string[]> {
  const input: Inputs["projects"]["create"] = { name: "x" };
  const { uuid }: { uuid: string } = await client.projects.create.mutate(input);
  // @ts-expect-error: a name is a text
  await client.projects.create.mutate({ name: 1 });
  // @ts-expect-error: no such operation
  client.projects.explode;
  // @ts-expect-error: no such code
  if (problemOf(new Error())?.code === "no.such") throw new Error();
  client.deployments.follow.subscribe({ uuid }, { onData: (event) => console.log(event.id) });
  const applications: Outputs["applications"]["list"] = await client.applications.list.query({});
  return applications.map(({ name }) => name);
}
`;

let server: TestServer;
let folder: TemporaryFolder;
const run = async (program: string, argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const { stdout } = await promisify(execFile)(program, argv, {
    cwd: folder.path,
    env: { PATH: [BIN, process.env.PATH].join(delimiter), HOME: folder.path, ...env },
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
};

beforeAll(async () => {
  folder = temporaryFolder({ "package.json": "{}", "use.mjs": SCRIPT, "use.ts": TYPES });
  server = await testServer();
  const packed = await run("node", [join(ROOT, "tooling/build/packages.mjs"), "--out", folder.path]);
  const archives = [...packed.trim().split("\n"), ...(await dependencies())];
  // Nothing is asked of a registry: what the client needs was installed for this workspace.
  const typescript = realpathSync(join(ROOT, "node_modules/typescript"));
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", ...archives, typescript]);
}, INSTALL_MS_MAX);
afterAll(async () => {
  await server?.dispose();
  folder[Symbol.dispose]();
});

/** Archives of what the client depends on, as this workspace has it. */
async function dependencies(): Promise<readonly string[]> {
  const installed = join(ROOT, "packages/client/node_modules");
  const direct = ["@trpc/client", "@trpc/server", "eventsource"].map((name) => realpathSync(join(installed, name)));
  const parser = join(dirname(direct.at(-1) ?? ""), "eventsource-parser");
  const argv = ["pack", ...direct, realpathSync(parser), "--ignore-scripts", "--json", "--loglevel", "error"];
  const packed = JSON.parse(await run("npm", argv)) as readonly { readonly filename: string }[];
  return packed.map(({ filename }) => join(folder.path, filename));
}

const filesOf = (name: string): readonly string[] => {
  const root = join(folder.path, "node_modules", name);
  return readdirSync(root, { recursive: true, encoding: "utf8" }).map((file) => join(root, file));
};

it.each([
  ["@berth/client", ">=22.12"],
  ["@berth/cli", ">=20.11"],
])("%s carries what was built, and nothing of the machine that built it", (name, node) => {
  const files = filesOf(name);
  expect(files.filter((file) => /\.ts$/.test(file) && !file.endsWith(".d.ts"))).toEqual([]);
  for (const file of ["README.md", "LICENSE"]) expect(files).toContain(join(folder.path, "node_modules", name, file));
  for (const file of files) {
    const content = readFileSync(file, "utf8");
    expect(content.includes(ROOT), `${ROOT} in ${file}`).toBe(false);
  }
  const text = readFileSync(join(folder.path, "node_modules", name, "package.json"), "utf8");
  expect(text).not.toMatch(/workspace:|catalog:/);
  const manifest = JSON.parse(text);
  expect(manifest).toMatchObject({ name, version: VERSION, license: "Apache-2.0", engines: { node } });
  expect(readFileSync(join(folder.path, "node_modules", name, "README.md"), "utf8").split("\n").length).toBeLessThan(
    50,
  );
});

it("the client's types check with the compiler's own settings", async () => {
  await run("tsc", ["--noEmit", "use.ts"]);
});

const answered = [VERSION, "My project", "resource.not_found"];

it("the client runs in Node", async () => {
  expect((await run("node", ["use.mjs", server.url, server.token])).trim().split("\n")).toEqual(answered);
});

it("the client runs in Bun", async ({ skip }) => {
  const bun = (process.env.PATH ?? "")
    .split(delimiter)
    .map((at) => join(at, "bun"))
    .find(existsSync);
  if (bun === undefined) return skip("bun is not in PATH");
  expect((await run(bun, ["use.mjs", server.url, server.token])).trim().split("\n")).toEqual(answered);
});

it("the client runs in a browser", async ({ skip }) => {
  if (!hasChromium) return skip("Chromium is not installed");
  const bundle = await run(join(BIN, "esbuild"), ["use.mjs", "--bundle", "--format=esm", "--log-level=error"]);
  const start = `globalThis.berth = ${JSON.stringify([server.url, server.token])};`;
  const page = `<body><script>${start}</script><script type="module" src="/page.js"></script></body>`;
  const shown = Promise.withResolvers<string>();
  const pages = createServer(async (request, reply) => {
    if (request.method === "POST") shown.resolve(await text(request));
    reply.setHeader("content-type", request.url === "/page.js" ? "text/javascript" : "text/html");
    reply.end(request.url === "/page.js" ? bundle : page);
  });
  await new Promise<void>((listening) => void pages.listen(0, "127.0.0.1", listening));
  // A server that listens on a port has such an address.
  const { port } = pages.address() as AddressInfo;
  const flags = ["--headless", ...CHROMIUM_FLAGS];
  const profile = `--user-data-dir=${join(folder.path, "profile")}`;
  // A group of its own, since Debian's command is a script, whose end leaves the browser.
  const options = { stdio: "ignore", detached: true } as const;
  const browser = spawn(CHROMIUM, [...flags, profile, `http://127.0.0.1:${port}/`], options);
  const ended = once(browser, "exit");
  try {
    expect((await shown.promise).split("\n")).toEqual(answered);
  } finally {
    if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
    await ended;
    pages.closeAllConnections();
    pages.close();
  }
});

/** What Node 20 lacks of this Node, as far as the command line could use it. */
const AS_NODE_20 = `import module from "node:module";
delete module.enableCompileCache;
module.syncBuiltinESMExports();
delete Promise.withResolvers;
delete Map.groupBy;
delete Object.groupBy;
delete Array.fromAsync;
delete globalThis.Iterator;
for (const name of ["map", "filter", "some", "find", "every", "reduce", "flatMap", "take", "drop", "toArray", "forEach"])
  delete Object.getPrototypeOf(Object.getPrototypeOf([].values()))[name];
for (const name of ["union", "intersection", "difference", "isSubsetOf", "isSupersetOf", "isDisjointFrom"])
  delete Set.prototype[name];
`;

it("the command line runs on Node 20, and reaches a server", async () => {
  const preload = `--import=data:text/javascript,${encodeURIComponent(AS_NODE_20)}`;
  const env = { BERTH_URL: server.url, BERTH_TOKEN: server.token, NODE_OPTIONS: preload };
  const main = join(folder.path, "node_modules/@berth/cli/main.js");
  expect(await run("node", [main, "--version"], env)).toBe(`${VERSION}\n`);
  expect(JSON.parse(await run("node", [main, "--json", "projects"], env))).toMatchObject([{ name: "My project" }]);
});

it("the command line is started by npx, and reaches a server", async () => {
  const npx = (...argv: readonly string[]) =>
    run("npx", ["--no-install", "berth", ...argv], { BERTH_URL: server.url, BERTH_TOKEN: server.token });
  expect(await npx("--version")).toBe(`${VERSION}\n`);
  expect(JSON.parse(await npx("--json", "projects"))).toMatchObject([{ name: "My project" }]);
  expect(await npx("projects", "--help")).toContain("berth projects");
});
