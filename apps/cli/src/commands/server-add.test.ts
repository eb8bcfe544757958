import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Refusal, ranWith } from "../answers.fixture.ts";
import { placeIn } from "./server-add.ts";

describe("the address of a server", () => {
  test.each([
    ["10.0.0.1", { ip: "10.0.0.1" }],
    ["deploy@web-1.example:2222", { ip: "web-1.example", user: "deploy", port: 2222 }],
    ["ssh://root@10.0.0.1", { ip: "10.0.0.1", user: "root" }],
    ["Web-1.Example.COM", { ip: "web-1.example.com" }],
    ["2001:db8::1", { ip: "2001:db8::1" }],
    ["root@[2001:db8::1]:22", { ip: "2001:db8::1", user: "root", port: 22 }],
  ])("%s is read", (address, place) => {
    expect(placeIn(address)).toEqual(place);
  });

  test.each([
    "",
    "root@",
    "10.0.0.1/etc",
    "10.0.0.1:70000",
    "10.0.0.1:ssh",
    "a b",
    "root:pw@10.0.0.1",
    "h?x=1",
    "10.0.0.1:0",
  ])("%j is refused with examples", (address) => {
    expect(() => placeIn(address)).toThrow(/is not an address. Examples:/);
  });
});

describe("a server that is added", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "berth-keys-"));
    await writeFile(join(folder, "new"), "PRIVATE KEY");
    await writeFile(join(folder, "main"), "KNOWN");
  });
  afterAll(() => rm(folder, { recursive: true }));

  const KEYS = [
    { uuid: "k1", name: "main", is_git_related: false },
    { uuid: "k2", name: "other", is_git_related: false },
    { uuid: "k4", name: "repository", is_git_related: true },
  ];

  /** What it sends for the server. */
  async function added(
    argv: readonly string[],
    { keys = KEYS, status = "finished", servers = [] as readonly object[] } = {},
  ) {
    const sent: unknown[] = [];
    const validated: unknown[] = [];
    const answers = {
      "privateKeys.list": () => keys,
      "servers.list": () => servers,
      "servers.update": (input: unknown) => {
        sent.push(input);
        return { uuid: "s1" };
      },
      "privateKeys.create": (input: { readonly private_key?: unknown }) => {
        if (input.private_key === "KNOWN") throw new Refusal("Private key already exists.", "input.invalid");
        sent.push(input);
        return { uuid: "k3" };
      },
      "privateKeys.updateSent": () => ({ uuid: "k1" }),
      "servers.create": (input: unknown) => {
        sent.push(input);
        return { uuid: "s1" };
      },
      "servers.get": () => ({
        uuid: "s1",
        name: "web-1",
        validation_logs: status === "finished" ? null : "No Docker.",
      }),
      "servers.validate": (input: unknown) => {
        validated.push(input);
        return { message: "Started.", job_uuid: "j1" };
      },
      "jobs.follow": () => [{ uuid: "j1", status, log: null, error: null }],
    };
    return { ...(await ranWith(answers, ["server", "add", ...argv], { cwd: folder })), sent, validated };
  }

  test("has Caddy, and is checked at once", async () => {
    const { exitCode, stdout, sent, validated } = await added([
      "deploy@10.0.0.1:2222",
      "--key",
      "other",
      "--name",
      "web-1",
    ]);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("web-1 can be used.")]);
    const place = { ip: "10.0.0.1", user: "deploy", port: 2222 };
    expect(validated).toEqual([{ uuid: "s1", install_engine: false }]);
    expect(sent).toEqual([{ name: "web-1", ...place, private_key_uuid: "k2", proxy_type: "caddy" }]);
  });

  test("gets the key of a file, which Berth keeps, unless it has it already", async () => {
    const { sent } = await added(["10.0.0.1", "--key", "new"]);
    expect(sent).toEqual([
      { name: "new", private_key: "PRIVATE KEY" },
      { ip: "10.0.0.1", private_key_uuid: "k3", proxy_type: "caddy" },
    ]);
    expect((await added(["10.0.0.1", "--key", "./main"])).sent).toEqual([
      { ip: "10.0.0.1", private_key_uuid: "k1", proxy_type: "caddy" },
    ]);
  });

  test("gets the team's only key, and is refused before anything is made where it is not clear which", async () => {
    expect((await added(["10.0.0.1"], { keys: KEYS.filter(({ uuid }) => uuid !== "k2") })).sent).toMatchObject([
      { private_key_uuid: "k1" },
    ]);
    const refused = await added(["10.0.0.1"]);
    expect([refused.exitCode, refused.stderr]).toEqual([
      2,
      expect.stringContaining("Keys of the team: main, other, repository."),
    ]);
    expect(refused.sent).toEqual([]);
    const missing = await added(["10.0.0.1", "--key", "absent"]);
    expect([missing.exitCode, missing.sent]).toEqual([1, []]);
    expect(missing.stderr).toContain(
      "absent is neither a key of the team (main, other, repository) nor a file that can be read",
    );
  });

  test("is changed and checked again where it could not be used yet, and left alone where it can", async () => {
    const server = { uuid: "s0", name: "web-1", ip: "10.0.0.1", settings: { is_usable: false } };
    const servers = [server];
    const { stdout, sent } = await added(["deploy@10.0.0.1", "--key", "other"], { servers });
    expect(sent).toEqual([{ uuid: "s0", ip: "10.0.0.1", user: "deploy", port: 22, private_key_uuid: "k2" }]);
    expect(stdout).toContain("Changed server web-1.");
    expect((await added(["10.0.0.1"], { servers })).sent).toEqual([
      { uuid: "s0", ip: "10.0.0.1", user: "root", port: 22 },
    ]);
    const usable = { servers: [{ ...server, settings: { is_usable: true } }] };
    const refused = await added(["10.0.0.1", "--key", "other"], usable);
    expect([refused.exitCode, refused.sent]).toEqual([2, []]);
    expect(refused.stderr).toContain("Server web-1 has this address already. Change it with: berth servers update s0");
  });

  test("gets Docker when asked, and its record is all that is printed as JSON", async () => {
    const { stdout, validated } = await added(["10.0.0.1", "--key", "new", "--install", "--json"]);
    expect(validated).toEqual([{ uuid: "s1", install_engine: true }]);
    expect(JSON.parse(stdout)).toMatchObject({ uuid: "s1" });
  });

  test("leaves no key behind when it is refused", async () => {
    const deleted: unknown[] = [];
    const answers = {
      "privateKeys.list": () => [],
      "servers.list": () => [],
      "privateKeys.create": () => ({ uuid: "k9" }),
      "privateKeys.delete": ({ uuid }: { readonly uuid?: unknown }) => {
        deleted.push(uuid);
        return { message: "Deleted." };
      },
      "servers.create": () => {
        throw new Refusal("A server with this IP/Domain is already in use.", "input.invalid");
      },
    };
    const { exitCode, stderr } = await ranWith(answers, ["server", "add", "10.0.0.1", "--key", "new"], { cwd: folder });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("already in use")]);
    expect(deleted).toEqual(["k9"]);
  });

  test("stays when it cannot be used yet, and the way back is said", async () => {
    const { exitCode, stdout, stderr } = await added(["10.0.0.1", "--key", "main"], { status: "failed" });
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("No Docker.")]);
    expect(stderr).toContain("Fix the problem above, then repeat the command.");
  });
});
