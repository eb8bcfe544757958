import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runningServersFolder } from "@berth/core/server";
import { describe, expect, test } from "vitest";
import { Failure } from "../failure.ts";
import { temporaryFolder } from "../temporary-folder.fixture.ts";
import { type ConfigFile, configPath, readConfig, writeConfig } from "./config-file.ts";
import { resolveConnection, serverUrl } from "./resolve.ts";

interface World {
  readonly env?: Record<string, string>;
  readonly config?: ConfigFile;
  /** Connection file of the server on this machine. */
  readonly local?: { url: string; token: string };
  readonly context?: string;
}

const CONFIG: ConfigFile = {
  current: "prod",
  contexts: {
    prod: { url: "https://prod.example.com", token: "1|prod" },
    lab: { url: "https://lab.example.com", token: "2|lab" },
  },
};
const LOCAL = { url: "http://127.0.0.1:8000", token: "3|local" };

async function resolved({ env = {}, config, local, context }: World): Promise<string> {
  using home = temporaryFolder();
  const place = { env, homeFolder: home.path, isRoot: false, cwd: home.path };
  if (config) await writeConfig(configPath(place), config);
  if (local) home.write({ ".berth/cli.json": JSON.stringify(local) });
  try {
    const { url, token } = await resolveConnection(place, context);
    return `${url} ${token}`;
  } catch (error) {
    if (error instanceof Failure) return [error.message, ...error.details].join(" | ");
    throw error;
  }
}

describe("which server a command talks to", () => {
  const fromEnv = { BERTH_URL: "https://env.example.com/", BERTH_TOKEN: "4|env" };
  test.each<[string, World, string]>([
    [
      "the context it names",
      { env: fromEnv, config: CONFIG, local: LOCAL, context: "lab" },
      "https://lab.example.com 2|lab",
    ],
    ["else the environment's", { env: fromEnv, config: CONFIG, local: LOCAL }, "https://env.example.com 4|env"],
    ["else the chosen context", { config: CONFIG, local: LOCAL }, "https://prod.example.com 1|prod"],
    [
      "else the one on this machine",
      { config: { ...CONFIG, current: null }, local: LOCAL },
      "http://127.0.0.1:8000 3|local",
    ],
    [
      "the environment's, with the token of a context for it",
      { env: { BERTH_URL: "lab.example.com" }, config: CONFIG },
      "https://lab.example.com 2|lab",
    ],
    [
      "the environment's, with the token of this machine's",
      { env: { BERTH_URL: "127.0.0.1:8000" }, local: LOCAL },
      "http://127.0.0.1:8000 3|local",
    ],
    [
      "the environment's, when its variables are not empty",
      { env: { BERTH_URL: "", BERTH_TOKEN: "" }, local: LOCAL },
      "http://127.0.0.1:8000 3|local",
    ],
  ])("%s", async (_title, world, expected) => {
    expect(await resolved(world)).toBe(expected);
  });

  test.each<[string, World, RegExp]>([
    ["without any", {}, /No server is configured yet.*berth login URL/],
    ["for a token without an address", { env: { BERTH_TOKEN: "x" } }, /BERTH_TOKEN is set, but BERTH_URL is not/],
    [
      "for an address without a token",
      { env: { BERTH_URL: "x.example.com" }, config: CONFIG },
      /no token is saved for https:\/\/x\.example\.com/,
    ],
    ["for a context that is not there", { config: CONFIG, context: "nope" }, /No connection is named nope.*prod, lab/],
    [
      "for a context called as something every object has",
      { config: CONFIG, context: "constructor" },
      /No connection is named constructor/,
    ],
    [
      "for an address that is none",
      { env: { BERTH_URL: "http://u:p@host", BERTH_TOKEN: "x" } },
      /not the address of a server/,
    ],
  ])("says what to do %s", async (_title, world, expected) => {
    expect(await resolved(world)).toMatch(expected);
  });

  test.each([
    ["https://b.example.com/", "https://b.example.com"],
    ["b.example.com", "https://b.example.com"],
    ["localhost:8000", "http://localhost:8000"],
    ["http://b.example.com:8000/api/v1/", "http://b.example.com:8000"],
    ["https://b.example.com/berth", "https://b.example.com/berth"],
  ])("%s is %s", (text, url) => {
    expect(serverUrl(text)).toBe(url);
  });
});

describe("a server of this machine with a data folder of its own", () => {
  /** @param running Data folders, below the home, of servers that say that they run. */
  function machine(running: readonly string[], others: readonly string[] = []) {
    const home = temporaryFolder();
    const serverIn = (name: string, pid: number) =>
      home.write({
        [`${name}/cli.json`]: JSON.stringify({ url: "http://127.0.0.1:8000", token: name }),
        [`${name}/server.pid`]: `${pid}\n`,
      });
    for (const name of running) serverIn(name, process.pid);
    // No process has such a number.
    for (const name of others) serverIn(name, 999_999_999);
    for (const name of [...running, ...others].filter((each) => each !== ".berth")) {
      const file = `${runningServersFolder("", {}).slice(1)}/${name}.json`;
      home.write({ [file]: JSON.stringify({ data_folder: join(home.path, name) }) });
    }
    return { home, place: { env: {}, homeFolder: home.path, isRoot: false, cwd: home.path } };
  }

  test.each<[string, readonly string[], readonly string[], string, boolean]>([
    ["is found, and named", ["own"], [], "own", true],
    ["is found beside one that was stopped", ["own"], [".berth", "stopped"], "own", true],
    ["gives way to the one with the usual folder", ["own", ".berth"], [], ".berth", false],
    ["is not taken while it is stopped", [], ["own", ".berth"], ".berth", false],
  ])("%s", async (_title, running, stopped, expected, isNoted) => {
    const { home, place } = machine(running, stopped);
    using _ = home;
    const { token, note } = await resolveConnection(place, undefined);
    expect([token, note]).toEqual([
      expected,
      isNoted ? `Server of ${home.path}/own, http://127.0.0.1:8000` : undefined,
    ]);
  });

  test("is asked for where there are several", async () => {
    const { home, place } = machine(["one", "two"]);
    using _ = home;
    const details = [`BERTH_DATA=${home.path}/one`, `BERTH_DATA=${home.path}/two`];
    await expect(resolveConnection(place, undefined)).rejects.toMatchObject({ exitCode: 2, details });
    const named = { ...place, env: { BERTH_DATA: "two" } };
    expect((await resolveConnection(named, undefined)).token).toBe("two");
  });
});

describe("the file of connections", () => {
  test("is kept where XDG_CONFIG_HOME says, when that is a path", () => {
    const home = { homeFolder: "/home/a" };
    expect(configPath({ env: { XDG_CONFIG_HOME: "/x" }, ...home })).toBe("/x/berth/config.json");
    expect(configPath({ env: { XDG_CONFIG_HOME: "x" }, ...home })).toBe("/home/a/.config/berth/config.json");
    expect(configPath({ env: {}, ...home })).toBe("/home/a/.config/berth/config.json");
  });

  test("can be read by its owner only, also when it could be read by others before", async () => {
    using home = temporaryFolder();
    const path = configPath({ env: {}, homeFolder: home.path });
    await writeConfig(path, CONFIG);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    chmodSync(path, 0o644);
    await writeConfig(path, { ...CONFIG, current: "lab" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect((await readConfig(path)).current).toBe("lab");
    expect(readdirSync(dirname(path))).toEqual(["config.json"]);
  });

  test("that is damaged is told by its name and left as it is", async () => {
    using home = temporaryFolder();
    const path = join(home.path, "config.json");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "{");
    await expect(readConfig(path)).rejects.toThrow(path);
    expect(readFileSync(path, "utf8")).toBe("{");
  });
});
