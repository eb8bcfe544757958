import { Agent } from "node:http";
import { join } from "node:path";
import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freshBuild } from "../../../tooling/build/fresh.mjs";
import { berth } from "../../cli/e2e/cli.fixture.ts";
import { createApplication, type Deployed, deploy, getKept, temporaryRepository } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Far below what the load sends, so that a busy machine changes nothing. */
const TARGET = 5;
const REPLICAS_MAX = 3;
/** Cooldowns are counted in samples: the number grows after 5 seconds, and shrinks after 10. */
const SAMPLE_SECONDS = 2;

const source = temporaryRepository({
  Dockerfile: `FROM node:24-alpine\nWORKDIR /app\nCOPY . .\nEXPOSE 3000\nCMD ["node", "server.js"]\n`,
  "server.js": `
    const server = require("node:http").createServer((_request, response) => response.end("answer"));
    server.listen(3000);
    process.on("SIGTERM", () => server.close(() => process.exit(0)));
  `,
});

interface Scaled {
  readonly payload: { readonly from: number; readonly to: number; readonly reason: string };
}

describeDocker("an application that is scaled by its requests", ["node:24-alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  let app: Deployed;
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });

  beforeAll(async () => {
    server = await dockerServer(docker, {
      main: join(freshBuild("test-server"), "crash-main.js"),
      env: { BERTH_SAMPLE: String(SAMPLE_SECONDS) },
    });
    const settings = { name: "web", server_uuid: server.dockerUuid, build_pack: "dockerfile" };
    app = await createApplication(server, source, settings);
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  });
  afterAll(async () => {
    agent.destroy();
    await server?.dispose();
    source.dispose();
  });

  const running = async () => {
    const { body } = await server.rest("GET", `/applications/${app.uuid}/containers`);
    return (body as readonly { readonly state: string }[]).filter(({ state }) => state === "running").length;
  };
  const changes = async () => {
    const { body } = await server.rest("GET", `/events?type=resource.autoscaled&resource=${app.uuid}`);
    const { events } = body as { readonly events: readonly Scaled[] };
    return events.map(({ payload: { from, to, reason } }) => ({ from, to, reason }));
  };

  /** Sends requests as long as `work` lasts. @returns what failed */
  const underLoad = async (work: () => Promise<void>) => {
    const failures: string[] = [];
    let isWorking = true;
    const client = async () => {
      while (isWorking) {
        await getKept(server, app.host, agent, "/").catch((cause: unknown) => failures.push(String(cause)));
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const clients = Array.from({ length: 4 }, client);
    await work().finally(() => {
      isWorking = false;
    });
    await Promise.all(clients);
    return failures;
  };

  test("gets more containers under load and fewer after it, with the reason of each change and no error of the proxy", async () => {
    const argv = ["scale", "web", `1..${REPLICAS_MAX}`, "--cpu", "0", "--requests", String(TARGET)];
    const env = { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder };
    expect(await berth(argv, { cwd: server.dataFolder, env })).toMatchObject({ code: 0, stderr: "" });
    await until(async () => (await running()) === 1, { what: "it has one container", seconds: 120 });
    const earlier = (await changes()).length;
    /** Those of this test, the newest first. */
    const made = async () => (await changes()).slice(0, -earlier || undefined);
    const failures = await underLoad(async () => {
      await until(async () => (await running()) === REPLICAS_MAX, { what: "it has grown", seconds: 120 });
    });
    // Caddy is reloaded twice, to count the site and for its first several upstreams, and then closes idle connections.
    expect(failures.filter((failure) => !/socket hang up|ECONNRESET/.test(failure))).toEqual([]);
    expect(failures.length).toBeLessThanOrEqual(8);
    const reason = expect.stringMatching(/^Requests \d+ a second per container, target 5\.$/);
    // On a busy machine the load may first ask for one more alone.
    const grown = await made();
    expect([grown.at(-1)?.from, grown[0]?.to]).toEqual([1, REPLICAS_MAX]);
    await until(async () => (await running()) === 1, { what: "it has shrunk", seconds: 120 });
    const all = await made();
    expect(all[0]?.to).toBe(1);
    for (const change of all) expect(change.reason).toEqual(reason);
  });

  test("keeps their number while the proxy is restarted under load", async () => {
    // What all runs of the proxy have answered together would ask for more.
    const target = { autoscaling_requests_per_second: 400 };
    expect((await server.rest("PATCH", `/applications/${app.uuid}`, target)).status).toBe(200);
    await until(async () => (await running()) === 1, { what: "it has one container", seconds: 120 });
    const before = await changes();
    await underLoad(async () => {
      for (let restart = 1; restart <= 2; restart++) {
        const { status } = await server.rest("POST", `/servers/${server.dockerUuid}/proxy/restart`);
        expect(status).toBeLessThan(300);
        await untilSampled(new Date());
      }
    });
    expect([await running(), await changes()]).toEqual([1, before]);
  });

  /** Waits for samples of two intervals that have a rate. */
  const untilSampled = async (since: Date) =>
    await until(
      async () => {
        const query = `since=${encodeURIComponent(since.toISOString())}`;
        const { body } = await server.rest("GET", `/applications/${app.uuid}/metrics?${query}`);
        const samples = body as readonly { readonly requests_per_second: number | null }[];
        return samples.filter(({ requests_per_second }) => (requests_per_second ?? 0) > 0).length > 1;
      },
      { what: "requests are counted again", seconds: 60 },
    );
});
