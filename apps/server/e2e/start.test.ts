import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "@berth/core";
import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { get } from "./applications.fixture.ts";
import { failedStart, freePorts, type TestServer, testServer } from "./server.fixture.ts";

const RUN = fileURLToPath(new URL("../../../tooling/run.mjs", import.meta.url));

describe("a first start", () => {
  let server: TestServer;
  beforeAll(async () => {
    // A folder of its own, in which the server creates its database.
    server = await testServer({ dataFolder: mkdtempSync(join(tmpdir(), "berth-")), env: { BERTH_EXAMPLE: "on" } });
  });
  afterAll(() => server.dispose());

  it("deploys the example through the pipeline and prints its URL", async () => {
    await until(() => server.output().includes("http://hello.localhost:"));
    const [url] = /http:\/\/hello\.localhost:\d+/.exec(server.output()) ?? [];
    expect(url).toBe(`http://hello.localhost:${server.proxyPort}`);
    expect(await get(server, "hello.localhost")).toMatchObject({ status: 200 });
  });

  it("keeps the token for the command line in a file of mode 0600 and out of its output", () => {
    const file = join(server.dataFolder, "cli.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const kept: unknown = JSON.parse(readFileSync(file, "utf8"));
    expect(kept).toEqual({ url: server.url, token: server.token });
    expect(server.output()).not.toContain(server.token);
    expect(server.output()).toContain(file);
  });

  it("[S01] serves the description in JSON and YAML, the docs, health and version", async () => {
    const json = await fetch(`${server.url}/api/v1/openapi.json`);
    const served: unknown = await json.json();
    expect(served).toMatchObject({ openapi: expect.stringMatching(/^3\.1/), info: { version: VERSION } });
    // The answers of all other servers are checked against the file.
    const file = fileURLToPath(new URL("../../../openapi.json", import.meta.url));
    expect(served).toEqual(JSON.parse(readFileSync(file, "utf8")));
    expect(await (await fetch(`${server.url}/api/v1/openapi.yaml`)).text()).toContain(`version: ${VERSION}`);
    expect((await fetch(`${server.url}/docs`)).status).toBe(200);
    expect(await (await fetch(`${server.url}/api/health`)).text()).toBe("OK");
    expect(await server.rest("GET", "/version")).toMatchObject({ status: 200, body: VERSION });
  });

  it("lets browsers keep the parts of the dashboard, and ask for its page each time", async () => {
    const page = await fetch(server.url);
    expect(page.headers.get("cache-control")).toBe("no-cache");
    const [part = ""] = /\/assets\/[\w.-]+\.js/.exec(await page.text()) ?? [];
    const sent = await fetch(`${server.url}${part}`);
    expect([sent.status, sent.headers.get("vary")]).toEqual([200, "accept-encoding"]);
    expect(sent.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const missing = await fetch(`${server.url}/assets/missing.js`);
    expect([missing.status, missing.headers.get("cache-control")]).toEqual([404, "no-store"]);
  });

  it("keeps everything over a clean stop and brings the example back", async () => {
    const before = await server.rest("GET", "/applications");
    expect(await server.stop()).toBe(0);
    await expect(get(server, "hello.localhost")).rejects.toThrow("ECONNREFUSED");
    await server.start();
    const after = await server.rest("GET", "/applications");
    const names = ({ body }: { body: unknown }) =>
      (body as { name: string; uuid: string }[]).map(({ name, uuid }) => ({ name, uuid }));
    expect(names(after)).toEqual(names(before));
    await until(async () => (await get(server, "hello.localhost").catch(() => undefined))?.status === 200);
    expect(server.output()).not.toContain(server.token);
  });

  it("refuses a second server on the same data folder in one sentence", async () => {
    const [api, proxy] = await freePorts(2);
    const { code, output } = await failedStart({
      BERTH_DATA: server.dataFolder,
      BERTH_PORT: String(api),
      BERTH_PROXY_PORT: String(proxy),
    });
    expect(code).toBe(1);
    expect(onlySentence(output)).toContain(server.dataFolder);
  });
});

it.each([
  ["Ready", "once it is ready"],
  ["database", "in the middle of a start"],
])("stops everything at one Ctrl-C in the terminal of npm start, after it printed %s: %s", async (printed) => {
  const dataFolder = mkdtempSync(join(tmpdir(), "berth-"));
  const [api = 0, proxy = 0] = await freePorts(2);
  const env = { ...process.env, BERTH_DATA: dataFolder, BERTH_PORT: String(api), BERTH_PROXY_PORT: String(proxy) };
  const child = spawn(process.execPath, [RUN, "start"], { env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  await until(() => output.includes(printed), { seconds: 60 });
  // Signals every process of the foreground group, like a terminal.
  process.kill(-(child.pid ?? 0), "SIGINT");
  expect(await exited).toBe(0);
  await expect(fetch(`http://127.0.0.1:${proxy}/`)).rejects.toThrow();
  await expect(fetch(`http://127.0.0.1:${api}/`)).rejects.toThrow();
  expect(commandsIn(dataFolder)).toEqual([]);
  rmSync(dataFolder, { recursive: true, force: true });
});

/** Commands of running processes that name a folder. */
const commandsIn = (folder: string): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return ""; // It has ended.
      }
    })
    .filter((command) => command.includes(folder));

it("is started again by npm start after an unexpected end, and says what happened", async () => {
  const dataFolder = mkdtempSync(join(tmpdir(), "berth-"));
  const [api = 0, proxy = 0] = await freePorts(2);
  const env = {
    ...{ ...process.env, BERTH_DATA: dataFolder, BERTH_EXAMPLE: "off" },
    ...{ BERTH_PORT: String(api), BERTH_PROXY_PORT: String(proxy) },
  };
  const parent = spawn(process.execPath, [RUN, "start"], { env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [parent.stdout, parent.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  const exited = new Promise((resolve) => parent.once("exit", resolve));
  const isReady = async () => (await fetch(`http://127.0.0.1:${api}/health/ready`).catch(() => undefined))?.ok === true;
  await until(async () => output.includes("Ready") && (await isReady()), { seconds: 60, what: "it is ready" });

  const [server = 0] = childrenOf(parent.pid ?? 0);
  process.kill(server, "SIGKILL");
  await until(async () => output.split("Ready").length > 2 && (await isReady()), { seconds: 60, what: "it is back" });
  expect(childrenOf(parent.pid ?? 0)).not.toContain(server);
  expect(output).toContain("Berth ended unexpectedly: it was killed (SIGKILL)");
  const file = join(dataFolder, "last-failure.json");
  expect(output).toContain(`The report is in ${file}.`);
  expect(output).toMatch(/ {2}! Berth ended unexpectedly at /);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ version: VERSION, is_shown: true });

  parent.kill("SIGTERM");
  expect(await exited).toBe(0);
  await expect(fetch(`http://127.0.0.1:${api}/`)).rejects.toThrow();
  rmSync(dataFolder, { recursive: true, force: true });
});

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

describe("a start that cannot work ends with one sentence and exit code 1", () => {
  const folders: string[] = [];
  const folder = () => {
    const made = mkdtempSync(join(tmpdir(), "berth-"));
    folders.push(made);
    return made;
  };
  afterAll(() => {
    for (const made of folders) if (existsSync(made)) rmSync(made, { recursive: true, force: true });
  });

  it("names the port that is in use", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await until(() => blocker.listening);
    const address = blocker.address();
    const taken = typeof address === "object" && address ? String(address.port) : "";
    const [proxy] = await freePorts(1);
    const { code, output } = await failedStart({
      BERTH_DATA: folder(),
      BERTH_HOST: "127.0.0.1",
      BERTH_PORT: taken,
      BERTH_PROXY_PORT: String(proxy),
    });
    blocker.close();
    expect(code).toBe(1);
    expect(onlySentence(output)).toContain(`Port ${taken} is in use`);
  });

  it("names the data folder that cannot be written", async () => {
    const parent = folder();
    chmodSync(parent, 0o500);
    // Root can write anywhere, so for root the folder's parent is a file.
    const data = process.getuid?.() === 0 ? "/proc/version/berth" : join(parent, "data");
    const { code, output } = await failedStart({ BERTH_DATA: data });
    expect(code).toBe(1);
    expect(onlySentence(output)).toContain(data);
  });

  it("says that the database does not answer, without the password", async () => {
    const [port] = await freePorts(1);
    const { code, output } = await failedStart({
      BERTH_DATA: folder(),
      BERTH_DATABASE_URL: `postgres://berth:hunter2@127.0.0.1:${port}/berth`,
    });
    expect(code).toBe(1);
    expect(onlySentence(output)).toContain(`127.0.0.1:${port}`);
    expect(output).not.toContain("hunter2");
  });

  it("names the variable that makes no sense", async () => {
    const { code, output } = await failedStart({ BERTH_DATA: folder(), BERTH_PORT: "eighty" });
    expect(code).toBe(1);
    expect(onlySentence(output)).toContain("BERTH_PORT");
  });
});

/** The last line; fails when there is a stack. */
function onlySentence(output: string): string {
  expect(output).not.toMatch(/\n\s+at /);
  return output.trimEnd().split("\n").at(-1) ?? "";
}
