import { Agent } from "node:http";
import { describeDocker, type RepositoryFiles, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berth } from "../../cli/e2e/cli.fixture.ts";
import { createApplication, type Deployed, deploy, getKept, temporaryRepository } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Answers its version and its container. It listens only after a while, as real applications do. */
const application = (version: string): RepositoryFiles => ({
  Dockerfile: `FROM node:24-alpine\nWORKDIR /app\nCOPY . .\nEXPOSE 3000\nCMD ["node", "server.js"]\n`,
  "server.js": `
    const name = require("node:os").hostname();
    let isSick = false;
    process.on("SIGUSR2", () => { isSick = !isSick; });
    const server = require("node:http").createServer((request, response) => {
      const answer = () => response.end("${version} " + name);
      if (request.url === "/health" && isSick) response.statusCode = 500;
      if (request.url === "/print") console.log("printed by " + name);
      if (request.url === "/slow") setTimeout(answer, 300); else answer();
    });
    setTimeout(() => server.listen(3000), 700);
    process.on("SIGTERM", () => server.close(() => process.exit(0)));
  `,
});

interface RunningContainer {
  readonly name: string | null;
  readonly state: string;
  readonly port: number | null;
}

describeDocker("an application with several containers", ["node:24-alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  let app: Deployed;
  const source = temporaryRepository(application("0"));
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });

  beforeAll(async () => {
    server = await dockerServer(docker);
    const settings = {
      ...{ name: "web", server_uuid: server.dockerUuid, build_pack: "dockerfile", replicas: 3 },
      ...{ pre_deployment_command: "echo before", post_deployment_command: "echo after" },
    };
    app = await createApplication(server, source, settings);
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  });
  afterAll(async () => {
    agent.destroy();
    await server?.dispose();
    source.dispose();
  });

  const containers = async () =>
    (await server.rest("GET", `/applications/${app.uuid}/containers`)).body as readonly RunningContainer[];
  const runningIds = async () => {
    const label = [`berth.resource=${app.uuid}`, "berth.role=release"];
    const all = await docker.client.listContainers({ filters: { label, status: ["running"] } });
    return all.map(({ Id }) => Id);
  };
  const typed = (...argv: readonly string[]) =>
    berth(argv, {
      cwd: server.dataFolder,
      env: { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder },
    });
  const ask = async (path = "/") => await getKept(server, app.host, agent, path);
  const scaleTo = async (replicas: number) => {
    expect((await server.rest("PATCH", `/applications/${app.uuid}`, { replicas })).status).toBe(200);
    await until(async () => {
      const all = await containers();
      return all.length === replicas && all.every(({ state }) => state === "running") ? true : undefined;
    });
  };
  /** Those that answer requests, of so many asked. */
  const answering = async (count = 30) => new Set(await Promise.all(Array.from({ length: count }, () => ask())));

  /** Sends requests as long as `work` lasts. @returns what failed */
  const underLoad = async (work: () => Promise<void>) => {
    const failures: string[] = [];
    let isWorking = true;
    let sent = 0;
    const client = async (index: number) => {
      while (isWorking || sent < 500) {
        sent += 1;
        await ask(sent % 40 === index ? "/slow" : "/").catch((cause: unknown) => failures.push(String(cause)));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    const clients = Array.from({ length: 8 }, (_, index) => client(index));
    await work().finally(() => {
      isWorking = false;
    });
    await Promise.all(clients);
    return failures;
  };

  test("shares its requests between them", async () => {
    const seen = (await containers()).map(({ name, port }) => [name, port]);
    expect(seen).toEqual([1, 2, 3].map((number) => [`replica-${number}`, 3000]));
    await until(async () => ((await answering()).size === 3 ? true : undefined));
  });

  test("has one log, in which each line has its container", async () => {
    const printed = await until(async () => {
      await ask("/print");
      const { logs } = (await server.rest("GET", `/applications/${app.uuid}/logs`)).body as { readonly logs: string };
      const lines = logs.split("\n").map((line) => /^(replica-\d) \| printed by (\w+)$/.exec(line)?.slice(1) ?? []);
      const byContainer = new Map(lines.filter(([name]) => name !== undefined).map(([name, host]) => [name, host]));
      return byContainer.size === 3 ? byContainer : undefined;
    });
    expect(new Set(printed.values()).size).toBe(3);
    const all = await typed("logs", "web", "--lines", "100");
    expect([all.code, all.stderr]).toEqual([0, ""]);
    for (const [name, host] of printed) expect(all.stdout.split("\n")).toContain(`${name} | printed by ${host}`);
    const { stdout } = await typed("logs", "web", "--container", "replica-2");
    expect(stdout).toContain(`printed by ${printed.get("replica-2")}`);
    expect(stdout).not.toContain("replica-");
  });

  test("fails no request while it grows, shrinks and is deployed", async () => {
    const failures = await underLoad(async () => {
      await scaleTo(5);
      await until(async () => ((await answering(50)).size === 5 ? true : undefined));
      await scaleTo(2);
      source.commit(application("1"));
      const outcome = await deploy(server, app.uuid);
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      expect(outcome.log).toMatch(/^before$/m);
      expect(outcome.log).toMatch(/^after$/m);
    });
    expect(failures).toEqual([]);
    expect(await containers()).toHaveLength(2);
    await until(async () => ([...(await answering())].every((text) => text.startsWith("1 ")) ? true : undefined));
  });

  test("answers all requests while one of its containers is killed, and gets it back", async () => {
    const failures = await underLoad(async () => {
      const ids = await runningIds();
      await docker.client.getContainer(ids[0] ?? "").remove({ force: true });
      await until(async () => {
        const now = await runningIds();
        return now.length === 2 && now.some((id) => !ids.includes(id)) ? true : undefined;
      });
    });
    // Those that the killed container was answering cannot be sent again.
    expect(failures.length).toBeLessThanOrEqual(8);
    await until(async () => ((await answering()).size === 2 ? true : undefined));
  });

  test("says why it cannot be scaled, until it can", async () => {
    await scaleTo(2);
    const [{ Image: tag = "" } = {}] = await docker.client.listContainers({
      filters: { label: [`berth.resource=${app.uuid}`, "berth.role=release"] },
    });
    const { Id } = await docker.client.getImage(tag).inspect();
    const at = tag.lastIndexOf(":");
    const shown = async () =>
      (await server.rest("GET", `/applications/${app.uuid}`)).body as { readonly scale_problem: string | null };
    await docker.client.getImage(tag).remove({ force: true });
    try {
      await server.rest("PATCH", `/applications/${app.uuid}`, { replicas: 3 });
      const { scale_problem } = await until(async () => {
        const found = await shown();
        return found.scale_problem === null ? undefined : found;
      });
      expect(scale_problem).toMatch(/^Container 3 of the application could not be started: /);
      expect((await typed("app", "show", "web")).stderr).toContain(scale_problem);
      const { body } = await server.rest("GET", `/events?type=resource.scale_failed&resource=${app.uuid}`);
      expect(JSON.stringify(body)).toContain(scale_problem);
    } finally {
      await docker.client.getImage(Id).tag({ repo: tag.slice(0, at), tag: tag.slice(at + 1) });
    }
    await until(async () => (await containers()).length === 3 || undefined, { what: "it is scaled", seconds: 90 });
    await until(async () => (await shown()).scale_problem === null, { what: "the problem is over" });
    await scaleTo(2);
  });

  test("is scaled from the command line, which waits until they run", async () => {
    const scale = (...argv: readonly string[]) => typed("scale", ...argv);
    const { code, stdout } = await scale("web", "3");
    expect([code, stdout]).toEqual([0, expect.stringContaining("3 of 3 containers running")]);
    const refused = await scale("web", "none");
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("Expected a number of containers or bounds"),
    ]);
    expect((await scale("web", "0")).code).toBe(1);

    expect(await scale("web", "4..6", "--cpu", "60")).toMatchObject({ code: 0, stderr: "" });
    const { body } = await server.rest("GET", `/applications/${app.uuid}`);
    const bounds = { autoscaling_replicas_min: 4, autoscaling_replicas_max: 6, autoscaling_cpu_percent: 60 };
    expect(body).toMatchObject({ autoscaling_enabled: true, ...bounds });
    expect((await scale("web", "3", "--cpu", "60")).code).toBe(2);
    expect((await scale("web", "6..4")).stderr).toContain("Example: berth scale shop 4..6");
    expect((await scale("web", "3")).code).toBe(0);
    const { body: fixed } = await server.rest("GET", `/applications/${app.uuid}`);
    expect(fixed).toMatchObject({ autoscaling_enabled: false, replicas: 3 });
  });

  test("sends no requests to a container that fails its health check, until it passes again", async () => {
    const check = { health_check_enabled: true, health_check_path: "/health", health_check_interval: 1 };
    const change = { ...check, health_check_retries: 2 };
    expect((await server.rest("PATCH", `/applications/${app.uuid}`, change)).status).toBe(200);
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    await until(async () => ((await answering()).size === 3 ? true : undefined));
    const [sick = ""] = await runningIds();
    const [name = ""] = sick.match(/^.{12}/) ?? [];
    const answers = async () => [...(await answering())].some((answer) => answer.endsWith(name));
    const container = docker.client.getContainer(sick);
    await container.kill({ signal: "SIGUSR2" });
    await until(async () => ((await answers()) ? undefined : true), {
      what: "the sick one gets no requests",
      seconds: 60,
    });
    expect((await answering()).size).toBe(2);
    const { body } = await server.rest("GET", `/applications/${app.uuid}`);
    expect(body).toMatchObject({ status: "running:unhealthy" });
    await container.kill({ signal: "SIGUSR2" });
    await until(async () => ((await answers()) ? true : undefined), { what: "it gets requests again", seconds: 60 });
  });

  test("stops and starts as a whole, and what changed meanwhile holds from the start on", async () => {
    await server.rest("POST", `/applications/${app.uuid}/stop`);
    await until(async () => ((await containers()).every(({ state }) => state === "exited") ? true : undefined));
    await server.rest("PATCH", `/applications/${app.uuid}`, { replicas: 2 });
    await server.rest("POST", `/applications/${app.uuid}/start`);
    await until(async () => {
      const all = await containers();
      return all.length === 2 && all.every(({ state }) => state === "running") ? true : undefined;
    });
    await until(async () => ((await answering()).size === 2 ? true : undefined));
  });
});
