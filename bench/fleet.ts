// Cost of many idle servers: simulated engines that answer the real API over sockets.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deploy, made, placeOf } from "../apps/server/e2e/applications.fixture.ts";
import { type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { sshKeyPair } from "../packages/testing/src/git-ssh-server.ts";
import { until } from "../packages/testing/src/until.ts";
import { cpuMs, rssMb } from "./measure.ts";
import { atMost, type Figure, told } from "./report.ts";

/** The server with simulated engines. */
export const FLEET_MAIN = fileURLToPath(new URL("./fleet-main.ts", import.meta.url));
const ENGINES = fileURLToPath(new URL("./simulated-engines.ts", import.meta.url));
const SERVERS = 100;
const NODES = 10;
const SETTLE_SECONDS = 20;
const IDLE_SECONDS = 60;

export async function benchFleet(): Promise<readonly Figure[]> {
  return await withServers(0, async ({ server }) => {
    const share = await idleShare(server);
    return [
      atMost(`Server process with ${SERVERS} idle servers, RSS`, rssMb(server.pid()), 250, " MB"),
      atMost(`Server process with ${SERVERS} idle servers, share of a core`, share, 1, " %"),
    ];
  });
}

/** The same servers as the nodes of clusters, each with an application on all of its nodes. */
export async function benchClusterWatch(): Promise<readonly Figure[]> {
  return await withServers(NODES, async ({ server, uuids, sockets }) => {
    const port = readFileSync(join(sockets, "port"), "utf8");
    for (const uuid of uuids.filter((_, at) => at % NODES === 0)) await deployOnAllNodes(server, uuid, port);
    const share = await idleShare(server);
    const what = `${SERVERS / NODES} clusters of ${NODES} nodes, each with an application on all of them`;
    return [
      told(`Server process with ${what}, RSS`, rssMb(server.pid()), " MB"),
      atMost(`Server process with ${what}, share of a core`, share, 5, " %"),
    ];
  });
}

interface Registered {
  readonly server: TestServer;
  readonly uuids: readonly string[];
  /** Folder of the engines' sockets. */
  readonly sockets: string;
}

async function withServers<T>(nodes: number, measure: (registered: Registered) => Promise<T>): Promise<T> {
  return await withEngines(SERVERS, nodes, async (sockets) => {
    const server = await testServer({ main: FLEET_MAIN, env: { BERTH_ENGINES: sockets, BERTH_RATE_LIMIT: "0" } });
    try {
      return await measure({ server, sockets, uuids: await register(server, SERVERS) });
    } finally {
      await server.dispose();
    }
  });
}

/** Starts simulated engines. @param nodes Of each swarm that they form; 0: they form none. */
export async function withEngines<T>(count: number, nodes: number, work: (sockets: string) => Promise<T>): Promise<T> {
  const sockets = mkdtempSync(join(tmpdir(), "berth-engines-"));
  const argv = [ENGINES, sockets, String(count), String(nodes)];
  const engines = spawn(process.execPath, argv, { stdio: "inherit" });
  try {
    // Beside a socket for each: the application's port, and the socket that controls them.
    await until(() => readdirSync(sockets).length >= count + 2, { what: "the engines listen" });
    return await work(sockets);
  } finally {
    engines.kill();
    rmSync(sockets, { recursive: true, force: true });
  }
}

/** Percent of a core that the server's process uses while nothing happens. */
async function idleShare(server: TestServer): Promise<number> {
  await pause(SETTLE_SECONDS);
  const before = cpuMs(server.pid());
  await pause(IDLE_SECONDS);
  return ((cpuMs(server.pid()) - before) / (IDLE_SECONDS * 1000)) * 100;
}

async function deployOnAllNodes(server: TestServer, server_uuid: string, port: string): Promise<void> {
  // Without a URL: a proxy would have to start, which simulated containers do not.
  const uuid = await made(server, "/applications/dockerimage", {
    ...{ ...(await placeOf(server)), server_uuid, docker_registry_image_name: "simulated/application" },
    ...{ ports_exposes: port, replicas: NODES, is_swarm_only_worker_nodes: false, autogenerate_domain: false },
  });
  const { status, error, log } = await deploy(server, uuid);
  if (status !== "finished") throw new Error(`An application was not deployed: ${error}\n${log}`);
}

/** Servers are validated like those of users, since only validated ones are probed. */
export async function register(server: TestServer, count: number): Promise<readonly string[]> {
  const key = await server.rest("POST", "/security/keys", { name: "fleet", private_key: sshKeyPair().privateKey });
  const private_key_uuid = (key.body as { uuid: string }).uuid;
  const uuids: string[] = [];
  for (let n = 1; n <= count; n += 1) {
    const name = `server-${n}`;
    const created = await server.rest("POST", "/servers", {
      name,
      ip: `10.77.0.${n}`,
      private_key_uuid,
      instant_validate: true,
    });
    if (created.status !== 201) throw new Error(`Not created: ${JSON.stringify(created.body)}`);
    uuids.push((created.body as { uuid: string }).uuid);
  }
  for (const uuid of uuids) {
    const isUsable = async () => {
      const { body } = await server.rest("GET", `/servers/${uuid}`);
      return (body as { is_usable: boolean }).is_usable;
    };
    await until(isUsable, { seconds: 120 });
  }
  return uuids;
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
