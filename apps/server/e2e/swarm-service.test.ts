import { describeDocker, eventually, SERVER_IMAGE, type SwarmServer, startSwarm, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berth } from "../../cli/e2e/cli.fixture.ts";
import { deploy, deployFirst, made, outcomeOf, placeOf, requestDeployment, visit } from "./applications.fixture.ts";
import { sshServer } from "./seen-server.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Answers with what the database counts, and with its own host name. */
const WEB = `const http = require("http");
http.createServer((q, r) => http.get("http://db:8000", (a) => a.on("data", (d) => r.end(d + " " + require("os").hostname()))
  .on("error", () => r.end())).on("error", (e) => r.writeHead(500).end(e.message))).listen(3000);`;
/** Counts in a file, for as long as its data exists. */
const DATABASE = `const fs = require("fs"), file = "/data/count";
const read = () => (fs.existsSync(file) ? Number(fs.readFileSync(file)) : 0);
require("http").createServer((q, r) => { fs.writeFileSync(file, String(read() + 1)); r.end(String(read())); }).listen(8000);`;
const WORKER = `console.log("key", require("fs").readFileSync("/etc/key", "utf8")); setInterval(() => {}, 1000);`;

const IMAGE = "node:24-alpine";
const program = (text: string, rest: object) => ({
  ...{ image: IMAGE, init: true, stop_grace_period: "1s", command: ["node", "-e", text.replaceAll("$", "$$")] },
  ...rest,
});
const composeOf = (change: object = {}): string =>
  JSON.stringify({
    services: {
      web: program(WEB, {
        environment: ["SERVICE_URL_WEB_3000"],
        deploy: { replicas: 2 },
        depends_on: { db: { condition: "service_healthy" } },
      }),
      worker: program(WORKER, { configs: [{ source: "key", target: "/etc/key" }], ...change }),
      db: program(DATABASE, {
        volumes: ["data:/data"],
        deploy: { placement: { constraints: ["node.role == manager"] } },
        healthcheck: {
          test: ["CMD", "node", "-e", `require("net").connect(8000).on("connect", () => process.exit(0))`],
        },
      }),
    },
    volumes: { data: null },
    configs: { key: { content: "from-config" } },
  });

/** Counts on the second server, beside one that waits for it. */
const keeperOf = (isHealthy: boolean): string =>
  JSON.stringify({
    services: {
      keeper: program(DATABASE, {
        volumes: ["data:/data"],
        deploy: { placement: { constraints: ["node.role == worker"] } },
        healthcheck: {
          test: ["CMD", "node", "-e", `process.exit(${isHealthy ? 0 : 1})`],
          interval: "1s",
          retries: 200,
        },
      }),
      front: program(WEB.replace("db:8000", "keeper:8000"), {
        environment: ["SERVICE_URL_FRONT_3000"],
        // It runs on while the node of the keeper is lost.
        deploy: { placement: { constraints: ["node.role == manager"] } },
        depends_on: { keeper: { condition: "service_healthy" } },
      }),
    },
    volumes: { data: null },
  });

describeDocker("a compose file on a cluster of two servers", [SERVER_IMAGE, IMAGE, "caddy:2"], (docker) => {
  let server: TestServer;
  let nodes: readonly SwarmServer[];
  let uuids: readonly string[];
  let keeper: string | undefined;
  let service: { readonly uuid: string; readonly host: string };

  beforeAll(async () => {
    [server, nodes] = await Promise.all([testServer(), startSwarm(docker, { nodes: 2 })]);
    await nodes[0]?.loadImages(IMAGE);
    // One after the other: the manager is first, as an operator would add it.
    const added: string[] = [];
    for (const [at, node] of nodes.entries()) added.push(await sshServer(server, node, `node-${at + 1}`));
    uuids = added;
  });
  afterAll(async () => {
    await server?.dispose();
  });

  const read = async (path: string) => (await server.rest("GET", path)).body as Record<string, unknown>;
  const filters = () => ({ label: [`berth.resource=${service.uuid}`] });
  const where = async () => ({ ...(await placeOf(server)), server_uuid: uuids[0] });
  const asked = async (site = service.host) => {
    const { status, body } = await visit({ host: nodes[0]?.address ?? "", port: 80 }, site);
    expect([status, body]).toEqual([200, expect.stringMatching(/^\d+ /)]);
    const [count, host] = body.split(" ");
    return { count: Number(count), host };
  };
  const hostOf = async (uuid: string) => {
    const { applications } = (await read(`/services/${uuid}`)) as { applications: readonly { fqdn: string | null }[] };
    return new URL(applications.find((one) => one.fqdn)?.fqdn ?? "").hostname;
  };
  /** Names of the running containers of each node. */
  const running = () =>
    Promise.all(
      nodes.map(async ({ client }) => {
        const found = await client.listContainers({ filters: filters() }).catch(() => []);
        return found.map(({ Labels }) => Labels["berth.container"]).sort();
      }),
    );

  test("runs on both nodes, where its containers find each other, and answers on its URL", async () => {
    const uuid = await made(server, "/services", { ...(await where()), docker_compose: composeOf() });
    service = { uuid, host: "" };
    await deployFirst(server, uuid);
    service = { uuid, host: await hostOf(uuid) };
    const hosts = new Set<string | undefined>();
    await until(async () => hosts.add((await asked()).host).size === 2);
    const [first = [], second = []] = await running();
    expect(first).toContain("db");
    expect([...first, ...second].sort()).toEqual(["db", "web", "web", "worker"]);
    expect(second).toContain("web");
    expect((await read(`/services/${uuid}`)).status).toMatch(/^running:/);
    const { body: log } = await server.rest("GET", `/services/${uuid}/logs?container=worker`);
    expect(JSON.stringify(log)).toContain("key from-config");
  });

  test("is deployed again with its data kept", async () => {
    const { count } = await asked();
    const changed = await server.rest("PATCH", `/services/${service.uuid}`, {
      docker_compose: composeOf({ environment: { VERSION: "2" } }),
    });
    expect(changed.status, JSON.stringify(changed.body)).toBeLessThan(300);
    const outcome = await deploy(server, service.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    // It obeys the constraints, so it does not warn of them.
    expect(outcome.log).not.toContain("Warning: services.");
    const planned = await server.rest("PATCH", `/services/${service.uuid}`, {
      ...{ docker_compose: composeOf(), dry_run: true },
    });
    expect(planned.body).toMatchObject({ changes: { warnings: [] } });
    await eventually(async () => expect((await asked()).count).toBeGreaterThan(count));
    await until(async () => (await running()).flat().length === 4);
  });

  test("keeps what runs where the next cannot run on a cluster, and says why", async () => {
    const before = await running();
    await server.rest("PATCH", `/services/${service.uuid}`, { docker_compose: composeOf({ privileged: true }) });
    const outcome = await deploy(server, service.uuid);
    expect(outcome.status).toBe("failed");
    expect(outcome.error).toContain("services.worker.privileged: Docker Swarm has no such option.");
    expect(await running()).toEqual(before);
    await server.rest("PATCH", `/services/${service.uuid}`, { docker_compose: composeOf() });
  });

  test("serves on while a node is lost: what has no data there starts on the other, and a deployment that needs the data ends", async () => {
    // A second try begins as the first one did: both nodes answer, and one service alone has data there.
    await nodes[1]?.up();
    if (keeper !== undefined) await server.rest("DELETE", `/services/${keeper}?delete_volumes=true`);
    keeper = await made(server, "/services", { ...(await where()), docker_compose: keeperOf(true) });
    await deployFirst(server, keeper);
    const host = await hostOf(keeper);
    const { count } = await eventually(() => asked(host));
    await server.rest("PATCH", `/services/${keeper}`, { docker_compose: keeperOf(false) });
    const deployment = await requestDeployment(server, keeper);
    const logOf = async () => JSON.stringify(await read(`/deployments/${deployment}/logs`));
    await until(async () => (await logOf()).includes("Waits until keeper is healthy"), { seconds: 60 });

    await nodes[1]?.down();
    const outcome = await outcomeOf(server, deployment);
    const error = expect.stringContaining(`Its data is on node node-2, which is down. Start the node again`);
    expect(outcome, outcome.log).toMatchObject({ status: "failed", error });
    await until(
      async () => {
        const [first = []] = await running();
        return first.join() === "db,web,web,worker";
      },
      { seconds: 90 },
    );
    await eventually(async () => expect((await asked()).count).toBeGreaterThan(0));
    await nodes[1]?.up();
    await until(async () => {
      const found = (await read(`/servers/${uuids[0]}/nodes`)) as unknown as readonly { readonly state: string }[];
      return found.length === 2 && found.every(({ state }) => state === "ready");
    });
    // The previous release has its data again.
    await eventually(async () => expect((await asked(host)).count).toBeGreaterThan(count));
  });

  test("a node that is drained is waited for until it is empty, and what has its data there waits for it", async () => {
    const host = await hostOf(keeper ?? "");
    const env = { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder };
    const run = async (...argv: string[]) =>
      (await berth(["cluster", ...argv], { cwd: server.dataFolder, env })).stdout;
    // After a try that ended between the two.
    await run("activate", "node-2");
    const { count } = await eventually(() => asked(host));
    const { body } = await server.rest("GET", `/services/${keeper}`);
    const { name } = body as { readonly name: string };
    // Shown while nothing is wrong: who has data where.
    expect(await run("nodes")).toContain(`Data on node-2 alone: ${name}\n`);
    const drained = await run("drain", "node-2");
    expect(drained).toMatch(/^\d containers? (is|are) still on node-2\n/);
    expect(drained).toContain("node-2 is a worker, drained.");
    expect(drained).toContain(`The data of 1 storage (${name}) is on it alone`);
    expect(await nodes[1]?.client.listContainers({ filters: { label: ["berth.role=task"] } })).toEqual([]);
    expect(await run("nodes")).toContain(`Point the names of its sites at: ${nodes[0]?.address}\n`);
    await run("activate", "node-2");
    await eventually(async () => expect((await asked(host)).count).toBeGreaterThan(count));
    await server.rest("DELETE", `/services/${keeper}?delete_volumes=true`);
  });

  test("leaves nothing when it is deleted with its data", async () => {
    const { status } = await server.rest("DELETE", `/services/${service.uuid}?delete_volumes=true`);
    expect(status).toBe(200);
    const left = async () => {
      const manager = nodes[0]?.client;
      const perNode = nodes.map(async ({ client }) => [
        ...(await client.listContainers({ all: true, filters: filters() })).map(({ Names }) => Names.join()),
        ...((await client.listVolumes({ filters: filters() })).Volumes ?? []).map(({ Name }) => Name),
        ...(await client.listNetworks({ filters: filters() })).map(({ Name }) => Name),
        ...(await client.listImages()).flatMap(({ RepoTags }) =>
          (RepoTags ?? []).filter((name) => name.includes(service.uuid)),
        ),
      ]);
      const services = (await manager?.listServices({ filters: filters() })) ?? [];
      return [...(await Promise.all(perNode)).flat(), ...services.map(({ ID }) => ID)];
    };
    await eventually(async () => expect(await left()).toEqual([]));
  });
});
