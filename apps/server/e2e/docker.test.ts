import { Agent } from "node:http";
import { describeDocker, type RepositoryFiles, until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createApplication,
  type Deployed,
  deploy,
  get,
  getKept,
  plainServer,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** As `plainServer`, with the Dockerfile that a user would write. */
const dockerApp = (version: string): RepositoryFiles => ({
  ...plainServer(version),
  Dockerfile: `FROM node:24-alpine\nWORKDIR /app\nCOPY . .\nENV PORT=3000\nEXPOSE 3000\nCMD ["node", "server.js"]\n`,
});

/** Without dependencies, so that no registry is asked; the installation makes its environment nevertheless. */
const pythonApp = (text: string): RepositoryFiles => ({
  "requirements.txt": "",
  "main.py": `import os
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"${text}")

HTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
`,
});

describeDocker("this machine's Docker engine", ["node:24-alpine", "python:3.13-slim", "caddy:2"], (docker) => {
  let server: DockerServer;
  let app: Deployed;
  const source = temporaryRepository(dockerApp("0"));

  const create = (settings: Readonly<Record<string, unknown>> = {}, from = source) =>
    createApplication(server, from, { server_uuid: server.dockerUuid, build_pack: "dockerfile", ...settings });
  /** Stopped ones are kept, so that it can be rolled back to them. */
  const containersOf = (uuid: string) =>
    docker.client.listContainers({ filters: { label: [`berth.resource=${uuid}`], status: ["running"] } });
  const statusOf = async (uuid: string) =>
    ((await server.rest("GET", `/applications/${uuid}`)).body as { status: string }).status;

  beforeAll(async () => {
    server = await dockerServer(docker);
    app = await create({ name: "web" });
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  });
  afterAll(async () => {
    await server?.dispose();
    source.dispose();
  });

  test("runs an application behind a proxy, and publishes no port of it", async () => {
    expect(await get(server, app.host)).toEqual({ status: 200, body: "0" });
    const [container, ...others] = await containersOf(app.uuid);
    expect(others).toEqual([]);
    expect(container?.Ports.filter(({ PublicPort }) => PublicPort !== undefined)).toEqual([]);
    expect(await statusOf(app.uuid)).toBe("running:healthy");
  });

  test("installs the dependencies of an application once while only other files change", async () => {
    const python = temporaryRepository(pythonApp("one"));
    try {
      const { uuid, host } = await create({ name: "python", build_pack: "nixpacks" }, python);
      const INSTALLED = /^CACHED .* -m pip install .* -r requirements\.txt$/m;
      const first = await deploy(server, uuid);
      expect(first, first.log).toMatchObject({ status: "finished", log: expect.not.stringMatching(INSTALLED) });
      python.commit(pythonApp("two"));
      const second = await deploy(server, uuid);
      expect(second, second.log).toMatchObject({ status: "finished", log: expect.stringMatching(INSTALLED) });
      expect(await get(server, host)).toEqual({ status: 200, body: "two" });
    } finally {
      python.dispose();
    }
  });

  test("reports a URL that leads to a port where nothing listens", async () => {
    const deaf = `http://${docker.name("deaf")}.test`;
    const { uuid } = await create({ name: "deaf", domains: `${deaf}:9999,${deaf}:3000/heard` });
    const outcome = await deploy(server, uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log.split("nothing listens")).toHaveLength(2);
    expect(outcome.log).toContain(`${deaf}:9999 names port 9999 of the container, where nothing listens.`);
  });

  test("fails no request through deployments under load", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 8 });
    const failures: string[] = [];
    const { body: before } = await get(server, app.host);
    const seen = new Set<string>();
    let isDeploying = true;
    let sent = 0;
    const client = async (index: number) => {
      while (isDeploying || sent < 1000) {
        sent += 1;
        await getKept(server, app.host, agent, sent % 40 === index ? "/slow" : "/").then(
          (body) => seen.add(body),
          (cause: unknown) => failures.push(String(cause)),
        );
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    const clients = Array.from({ length: 8 }, (_, index) => client(index));
    for (const version of ["1", "2", "3"]) {
      source.commit(dockerApp(version));
      const outcome = await deploy(server, app.uuid);
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    }
    isDeploying = false;
    await Promise.all(clients);
    agent.destroy();
    expect(failures).toEqual([]);
    expect(seen).toEqual(new Set([before, "1", "2", "3"]));
    await until(async () => ((await containersOf(app.uuid)).length === 1 ? true : undefined), { seconds: 60 });
  });

  test("sends no request to a candidate that never becomes healthy, and removes it", async () => {
    const before = await get(server, app.host);
    source.commit({ ...dockerApp("9"), "server.js": "setInterval(() => {}, 1000);" });
    await server.rest("PATCH", `/applications/${app.uuid}`, {
      health_check_enabled: true,
      health_check_interval: 1,
      health_check_retries: 2,
      health_check_start_period: 1,
    });
    const outcome = await deploy(server, app.uuid);
    expect(outcome.status, outcome.log).toBe("failed");
    expect(outcome.error).toContain("not healthy");
    expect(await get(server, app.host)).toEqual(before);
    expect(await containersOf(app.uuid)).toHaveLength(1);
    source.commit(dockerApp("3"));
  });

  describe("what somebody else does to a container", () => {
    const deadlineMs = 60_000;
    test.each([
      ["stopped", (id: string) => docker.client.getContainer(id).stop({ t: 0 })],
      ["killed", (id: string) => docker.client.getContainer(id).kill()],
      ["removed", (id: string) => docker.client.getContainer(id).remove({ force: true })],
    ])("is healed: it was %s", async (_what, act) => {
      const [container] = await containersOf(app.uuid);
      const since = Date.now();
      await act(container?.Id ?? "");
      await until(
        async () => {
          const [now] = await containersOf(app.uuid);
          const isBack = now?.State === "running" && (now.Id !== container?.Id || now.Created * 1000 < since);
          return isBack && (await get(server, app.host)).status === 200 ? true : undefined;
        },
        { seconds: deadlineMs / 1000 },
      );
      await until(async () => ((await statusOf(app.uuid)) === "running:healthy" ? true : undefined), {
        seconds: deadlineMs / 1000,
      });
    });
  });

  test("continues serving while Berth is killed, and is looked after again", async () => {
    const [before] = await containersOf(app.uuid);
    await server.kill();
    expect((await get(server, app.host)).status).toBe(200);
    await server.start();
    expect((await get(server, app.host)).status).toBe(200);
    await until(async () => ((await statusOf(app.uuid)) === "running:healthy" ? true : undefined), { seconds: 60 });
    expect((await containersOf(app.uuid)).map(({ Id }) => Id)).toEqual([before?.Id]);
  });

  test("gives a container its variables byte for byte, and shows its log", async () => {
    const value = ` q"u'o$t\`e\\ \nline two `;
    await server.rest("POST", `/applications/${app.uuid}/envs`, { key: "TRICKY", value, is_literal: true });
    source.commit({
      ...dockerApp("5"),
      "server.js": `console.log("TRICKY " + JSON.stringify(process.env.TRICKY));\n${dockerApp("5")["server.js"]}`,
    });
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    const { body } = await server.rest("GET", `/applications/${app.uuid}/logs?lines=50`);
    expect((body as { logs: string }).logs).toContain(`TRICKY ${JSON.stringify(value)}`);
  });

  test("is left as it was when its application is deleted", async () => {
    // Containers of the first application are replaced with its releases.
    const isOther = (labels: Readonly<Record<string, string>>) => labels["berth.resource"] !== app.uuid;
    const all = async () => {
      const [containers, volumes, images] = await Promise.all([
        docker.client.listContainers({ all: true, filters: { label: [`berth.instance=${docker.instance}`] } }),
        docker.client.listVolumes({ filters: { label: [`berth.instance=${docker.instance}`] } }),
        docker.client.listImages({ filters: { label: [`berth.instance=${docker.instance}`] } }),
      ]);
      return {
        containers: containers.flatMap(({ Id, Labels }) => (isOther(Labels) ? [Id] : [])).sort(),
        volumes: (volumes.Volumes ?? []).map(({ Name }) => Name).sort(),
        images: images.flatMap(({ Id, Labels }) => (isOther(Labels) ? [Id] : [])).sort(),
      };
    };
    // The replaced release may still be draining.
    await until(async () => ((await containersOf(app.uuid)).length === 1 ? true : undefined), { seconds: 60 });
    const before = await all();
    const other = await create({ name: "other" });
    await server.rest("POST", `/applications/${other.uuid}/storages`, {
      type: "persistent",
      name: "data",
      mount_path: "/data",
    });
    expect(await deploy(server, other.uuid)).toMatchObject({ status: "finished" });
    expect(await get(server, other.host)).toMatchObject({ status: 200 });
    expect((await all()).volumes.length).toBe(before.volumes.length + 1);
    await server.rest("DELETE", `/applications/${other.uuid}?delete_volumes=true`);
    await until(
      async () => ((await server.rest("GET", `/applications/${other.uuid}`)).status === 404 ? true : undefined),
      { seconds: 60 },
    );
    expect(await all()).toEqual(before);
    expect((await get(server, other.host)).status).toBe(404);
    expect((await get(server, app.host)).status).toBe(200);
    expect(await containersOf(app.uuid)).toHaveLength(1);
  });
});
