import { connect } from "node:net";
import { describeDocker, eventually, SERVER_IMAGE, type SwarmServer, startSwarm, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berth } from "../../cli/e2e/cli.fixture.ts";
import { deploy, deployFirst, made, placeOf, visit } from "./applications.fixture.ts";
import { sshServer } from "./seen-server.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Answers its version and the node's view of its host name, so that containers can be told apart. */
const dockerfile = (version: string): string => {
  const program = `require("http").createServer((q, r) => setTimeout(() => r.end("${version} " + require("os").hostname()), q.url === "/slow" ? 300 : 0)).listen(3000); console.log("ready ${version}")`;
  const text = `FROM node:24-alpine\nEXPOSE 3000\nCMD ${JSON.stringify(["node", "-e", program])}\n`;
  return Buffer.from(text).toString("base64");
};

/** Whether a PostgreSQL answers the question for TLS. */
const speaksPostgres = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 }, () => socket.write(Buffer.from("0000000804d2162f", "hex")));
    const end = (isRight: boolean) => {
      socket.destroy();
      resolve(isRight);
    };
    socket
      .once("data", (answer) => end(["S", "N"].includes(answer.toString())))
      .once("error", () => end(false))
      .once("end", () => end(false))
      .once("timeout", () => end(false));
  });

const IMAGES = [SERVER_IMAGE, "node:24-alpine", "caddy:2", "busybox:stable", "postgres:17-alpine", "nginx:alpine"];

describeDocker("a cluster of three servers", IMAGES, (docker) => {
  let server: TestServer;
  let nodes: readonly SwarmServer[];
  let uuids: readonly string[];
  let app: { readonly uuid: string; readonly host: string };

  beforeAll(async () => {
    [server, nodes] = await Promise.all([testServer(), startSwarm(docker, { nodes: 3 })]);
    await manager().loadImages("node:24-alpine", "postgres:17-alpine", "nginx:alpine");
    uuids = await Promise.all(nodes.map((node, at) => sshServer(server, node, `node-${at + 1}`)));
  });
  afterAll(async () => {
    await server?.dispose();
  });

  const manager = (): SwarmServer => {
    const [first] = nodes;
    if (first === undefined) throw new Error("A swarm has a node.");
    return first;
  };
  const second = (): SwarmServer => {
    const [, other] = nodes;
    if (other === undefined) throw new Error("The swarm has three nodes.");
    return other;
  };
  const read = async (path: string) => (await server.rest("GET", path)).body as Record<string, unknown>;
  const visitApp = (node = manager()) => visit({ host: node.address, port: 80 }, app.host);
  const containersOn = (node: SwarmServer) =>
    node.client.listContainers({ filters: { label: [`berth.resource=${app.uuid}`] } });
  const runningOn = async (node: SwarmServer) => (await containersOn(node)).length;
  const where = async () => ({ ...(await placeOf(server)), server_uuid: uuids[0] });

  test("is recognised by the validation of its nodes", async () => {
    const [first, second, third] = await Promise.all(uuids.map((uuid) => read(`/servers/${uuid}`)));
    expect(first).toMatchObject({ engine: "swarm", settings: { is_swarm_manager: true, is_swarm_worker: false } });
    for (const worker of [second, third]) {
      expect(worker).toMatchObject({ engine: "docker", settings: { is_swarm_manager: false, is_swarm_worker: true } });
      expect(worker?.swarm_cluster).toBe(first?.swarm_cluster);
    }
    expect(first?.validation_logs).toContain("tolerates the loss of none");
  });

  test("runs an application on all of its nodes, behind the proxy of its manager", async () => {
    const uuid = await made(server, "/applications/dockerfile", {
      ...(await where()),
      ...{
        dockerfile: dockerfile("0"),
        ports_exposes: "3000",
        name: "web",
        replicas: 3,
        is_swarm_only_worker_nodes: false,
      },
    });
    const { fqdn } = (await read(`/applications/${uuid}`)) as { fqdn: string };
    app = { uuid, host: new URL(fqdn).hostname };
    const outcome = await deploy(server, uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await Promise.all(nodes.map(runningOn))).toEqual([1, 1, 1]);
    const hosts = new Set<string>();
    await until(async () => {
      const { status, body } = await visitApp();
      expect([status, body]).toEqual([200, expect.stringMatching(/^0 /)]);
      hosts.add(body);
      return hosts.size === 3;
    });
    expect(await read(`/applications/${uuid}`)).toMatchObject({
      ...{ status: "running:healthy", replicas: 3, destination_type: "swarm" },
    });
  });

  test("takes requests on another node too, once it is asked to", async () => {
    await second().loadImages("caddy:2");
    await expect(visitApp(second())).rejects.toThrow("ECONNREFUSED");
    const changed = await berth(["cluster", "ingress", "node-2"], {
      cwd: server.dataFolder,
      env: { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder },
    });
    expect(changed.stdout).toContain(`node-2 takes requests of the cluster too.
Point the names of its sites at: ${manager().address}, ${second().address}`);
    await eventually(async () => expect(await visitApp(second())).toMatchObject({ status: 200 }));
    const [head] = (await read(`/servers/${uuids[0]}/nodes`)) as unknown as readonly { readonly id: string }[];
    const refused = await server.rest("PATCH", `/servers/${uuids[0]}/nodes/${head?.id}`, { is_ingress: false });
    expect([refused.status, refused.body]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringContaining("always takes its requests") }),
    ]);
  });

  test("replaces a release without a failed request", async () => {
    let isDone = false;
    const answers = new Map<string, number>();
    const load = async (_client: unknown, at: number) => {
      while (!isDone) {
        const { status, body } = await visitApp(at % 2 === 0 ? manager() : second());
        const key = `${status} ${body.slice(0, 1)}`;
        answers.set(key, (answers.get(key) ?? 0) + 1);
      }
    };
    const clients = Array.from({ length: 4 }, load);
    await server.rest("PATCH", `/applications/${app.uuid}`, { dockerfile: dockerfile("1") });
    const outcome = await deploy(server, app.uuid);
    isDone = true;
    await Promise.all(clients);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect([...answers.keys()].sort()).toEqual(["200 0", "200 1"]);
    await until(async () => (await Promise.all(nodes.map(runningOn))).every((count) => count === 1));
  });

  test("is reached by the other node while its manager is lost", async () => {
    await manager().cutNetwork();
    const answers: number[] = [];
    for (let count = 0; count < 20; count += 1) answers.push((await visitApp(second())).status);
    await manager().joinNetwork();
    expect(new Set(answers)).toEqual(new Set([200]));
    await eventually(async () => expect(await visitApp()).toMatchObject({ status: 200 }));
  });

  test("takes no requests on that node any more, once it is asked to", async () => {
    // Berth reaches the manager again some seconds after its network is back.
    await eventually(async () => {
      const nodes = (await read(`/servers/${uuids[0]}/nodes`)) as unknown as readonly {
        readonly id: string;
        readonly server_name: string;
      }[];
      const { id } = nodes.find(({ server_name }) => server_name === "node-2") ?? {};
      const { body } = await server.rest("PATCH", `/servers/${uuids[0]}/nodes/${id}`, { is_ingress: false });
      expect(body).toMatchObject({ server_name: "node-2", is_ingress: false });
    });
    await eventually(async () => expect(await visitApp(second())).toMatchObject({ status: 404 }));
    expect(await visitApp()).toMatchObject({ status: 200 });
  });

  test("changes the number of containers, and has one log of all", async () => {
    await server.rest("PATCH", `/applications/${app.uuid}`, { replicas: 5 });
    await until(async () => (await Promise.all(nodes.map(runningOn))).reduce((sum, count) => sum + count, 0) === 5);
    await server.rest("PATCH", `/applications/${app.uuid}`, { replicas: 3 });
    await until(async () => (await Promise.all(nodes.map(runningOn))).reduce((sum, count) => sum + count, 0) === 3);
    await eventually(async () => {
      const { logs } = (await read(`/applications/${app.uuid}/logs`)) as { logs: string };
      expect(logs.match(/ready 1/g)).toHaveLength(3);
    });
  });

  test("runs a database on one node, and a compose file", async () => {
    const image = { image: "postgres:17-alpine", health_check_interval: 1, health_check_retries: 60 };
    const database = await made(server, "/databases/postgresql", { ...(await where()), ...image });
    await deployFirst(server, database);
    await eventually(async () => {
      expect(await read(`/databases/${database}`)).toMatchObject({ status: "running:healthy" });
    });
    // Every container of the cluster finds it by its name, and the public port leads to it from the manager.
    for (const node of nodes) {
      const [container] = await containersOn(node);
      const lookup = `require("dns").lookup(process.argv[1], (error) => process.exit(error ? 1 : 0))`;
      // The engines of the nodes tell each other about a new name.
      await eventually(async () => {
        const found = await node.exec(["docker", "exec", container?.Id ?? "", "node", "-e", lookup, database]);
        expect(found, found.output).toMatchObject({ exitCode: 0 });
      });
    }
    const opened = await server.rest("PATCH", `/databases/${database}`, { is_public: true, public_port: 15432 });
    expect(opened.status, JSON.stringify(opened.body)).toBeLessThan(300);
    await until(() => speaksPostgres(manager().address, 15432), { seconds: 60 });
    const compose = {
      services: {
        web: {
          image: "node:24-alpine",
          command: ["node", "-e", `require("http").createServer((q, r) => r.end("stack")).listen(3000)`],
          environment: ["SERVICE_URL_WEB_3000"],
        },
      },
    };
    const service = await made(server, "/services", { ...(await where()), docker_compose: JSON.stringify(compose) });
    await deployFirst(server, service);
    const { applications } = (await read(`/services/${service}`)) as { applications: readonly { fqdn: string }[] };
    const host = new URL(applications[0]?.fqdn ?? "").hostname;
    await eventually(async () => {
      expect(await visit({ host: manager().address, port: 80 }, host)).toMatchObject({ status: 200, body: "stack" });
    });
  });

  test("serves on while a node is lost, and its containers start on the others", async () => {
    await nodes[2]?.down();
    await until(
      async () => {
        const { status } = await visitApp();
        expect(status).toBe(200);
        const left = await Promise.all(nodes.slice(0, 2).map(runningOn));
        return left.reduce((sum, count) => sum + count, 0) === 3;
      },
      { seconds: 60 },
    );
    expect((await visitApp()).status).toBe(200);
  });
});
