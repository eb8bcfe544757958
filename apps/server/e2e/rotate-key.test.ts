import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SERVER_FLAGS } from "../../../tooling/server-flags.mjs";
import { MAIN, type TestServer, testServer } from "./server.fixture.ts";

describe("the command rotate-key", () => {
  let server: TestServer;
  let dataFolder: string;
  beforeAll(async () => {
    dataFolder = mkdtempSync(join(tmpdir(), "berth-"));
    server = await testServer({ dataFolder });
  });
  afterAll(async () => {
    await server.dispose();
    rmSync(dataFolder, { recursive: true, force: true });
  });

  const run = (...args: string[]) => {
    const env = { PATH: process.env.PATH ?? "", HOME: dataFolder, BERTH_DATA: dataFolder };
    const { status, stdout, stderr } = spawnSync(process.execPath, [...SERVER_FLAGS, MAIN, ...args], {
      env,
      encoding: "utf8",
    });
    return { status, output: `${stdout}${stderr}` };
  };
  const keys = () => readFileSync(join(dataFolder, "secret.key"), "utf8").trim().split("\n");

  it("refuses while a server runs, and leaves the keys alone", () => {
    const { status, output } = run("rotate-key");
    expect([status, output.trim().split("\n").length]).toEqual([1, 1]);
    expect(keys()).toHaveLength(1);
  });

  it("seals every secret anew; the server then starts and shows them as before", async () => {
    const projects = await server.rest("GET", "/projects");
    const servers = await server.rest("GET", "/servers");
    const place = {
      project_uuid: (projects.body as { uuid: string }[])[0]?.uuid,
      server_uuid: (servers.body as { uuid: string }[])[0]?.uuid,
      environment_name: "production",
    };
    const made = await server.rest("POST", "/applications/upload", { ...place, name: "kept" });
    const { uuid } = made.body as { uuid: string };
    await server.rest("POST", `/applications/${uuid}/envs`, { key: "SECRET", value: "as it was" });
    await server.stop();

    expect(run("rotate-key")).toMatchObject({
      status: 0,
      output: expect.stringMatching(/^\d+ secrets are now sealed with key 2 /m),
    });
    expect(keys()).toHaveLength(2);

    await server.start();
    const { body } = await server.rest("GET", `/applications/${uuid}/envs`);
    expect((body as { key: string; value: string }[])[0]).toMatchObject({ key: "SECRET", value: "as it was" });
  });

  it("is the only word that the server takes", () => {
    expect(run("rotate")).toEqual({ status: 2, output: "Usage: npm start [-- rotate-key]\n" });
  });
});
