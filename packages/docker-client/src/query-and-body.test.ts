import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { localHost } from "@berth/host";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dockerClient } from "./client.ts";

const SECRET = "canary-5f0c";

interface SentRequest {
  readonly url: string;
  readonly headers: string;
  readonly body: string;
}

describe("a call to the engine", () => {
  let folder: string;
  let engine: Server;
  let docker: Docker;
  let sent: SentRequest[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-calls-"));
    engine = createServer(async (request, response) => {
      const { url = "", rawHeaders } = request;
      // Also searches the decoded base64.
      const decoded = rawHeaders.map((value) => Buffer.from(value, "base64").toString());
      sent.push({ url, headers: [...rawHeaders, ...decoded].join("\n"), body: await text(request) });
      response.statusCode = /create/.test(url) ? 201 : 200;
      response.setHeader("content-type", "application/json").end(JSON.stringify({ Id: "made", ID: "made" }));
    }).listen(join(folder, "engine.sock"));
    await once(engine, "listening");
    docker = dockerClient(localHost("local"), join(folder, "engine.sock"));
  });
  afterAll(() => {
    engine.close();
    engine.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  });

  const Env = [`PASSWORD=${SECRET}`];
  const Data = Buffer.from(SECRET).toString("base64");
  const service = { Name: "web", TaskTemplate: { ContainerSpec: { Image: "nginx", Env } } };
  const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
    createContainer: () => docker.createContainer({ name: "web", platform: "linux/amd64", Image: "nginx", Env }),
    updateContainer: () => docker.getContainer("a").update({ Memory: 1, Labels: { SECRET } }),
    commit: () => docker.getContainer("a").commit({ repo: "web", Env }),
    createExec: () => docker.getContainer("a").exec({ Cmd: ["env"], Env }),
    createNetwork: () => docker.createNetwork({ Name: "web", Labels: { SECRET } }),
    createVolume: () => docker.createVolume({ Name: "web", DriverOpts: { password: SECRET } }),
    createSecret: () => docker.createSecret({ Name: "web", Data }),
    updateSecret: () => docker.getSecret("a").update({ version: 1, Name: "web", Data }),
    createConfig: () => docker.createConfig({ Name: "web", Data }),
    createService: () => docker.createService(service),
    updateService: () => docker.getService("a").update({ version: 7, ...service }),
  };

  test.each(Object.keys(CALLS))("%s sends what may be secret in its body alone", async (name) => {
    sent = [];
    await CALLS[name]?.();
    expect(sent).toHaveLength(1);
    const [{ url = "", headers = "", body = "" } = {}] = sent;
    for (const value of [SECRET, Data, encodeURIComponent(Data)]) {
      expect(url).not.toContain(value);
      expect(headers).not.toContain(value);
    }
    expect(body.includes(SECRET) || body.includes(Data)).toBe(true);
  });

  test("sends what the engine reads from the URL in the URL alone", async () => {
    sent = [];
    await CALLS.createContainer?.();
    await CALLS.updateService?.();
    expect(sent.map(({ url }) => url)).toEqual([
      "/containers/create?name=web&platform=linux%2Famd64",
      "/services/a/update?version=7",
    ]);
    expect(sent.map(({ body }) => Object.keys(JSON.parse(body)))).toEqual([
      ["Image", "Env"],
      ["Name", "TaskTemplate"],
    ]);
  });

  test("may be larger than the engine takes in a URL", async () => {
    sent = [];
    await docker.createContainer({ name: "web", Image: "nginx", Env: [`LARGE=${"x".repeat(3_000_000)}`] });
    expect(sent[0]?.url).toBe("/containers/create?name=web");
    expect(sent[0]?.body.length).toBeGreaterThan(3_000_000);
  });
});
