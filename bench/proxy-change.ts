// Requests that fail while the proxy of a server is changed under them. Two programs share the ports for a second; a
// connection that was idle until then may be closed while its client sends.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { dockerClient } from "../packages/docker-client/src/client.ts";
import { localHost } from "../packages/host/src/local-host.ts";
import { caddyProxy } from "../packages/proxy/src/caddy/caddy.ts";
import { LOAD_HOST, startClients } from "../packages/proxy/src/caddy/load-clients.fixture.ts";
import { removeLabelled, testInstance } from "../packages/testing/src/docker-leftovers.ts";
import { atMost, type Figure } from "./report.ts";

const CHANGES = 10;
const REQUESTS = 10_000;
const REQUESTS_PER_SECOND = 150;
/** Names of one image: to Berth they are two. */
const IMAGES = ["caddy:2", "caddy:2-alpine"] as const;

export async function benchProxyChange(): Promise<readonly Figure[]> {
  const instance = testInstance(`berth-bench-${randomBytes(4).toString("hex")}`);
  const host = localHost("here");
  const docker = dockerClient(host);
  const folder = await mkdtemp(join("/tmp", "berth-bench-"));
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const options = { host, docker, instance, folder, httpPort, httpsPort, tls: { issuer: "internal" } } as const;
  const upstream = createServer((request, response) => void request.pipe(response));
  const port = await listen(upstream);
  const clients = startClients({ port: httpPort, requestsPerSecond: REQUESTS_PER_SECOND, talkers: 0 });
  try {
    const first = caddyProxy({ ...options, image: IMAGES[0] });
    await first.ensure();
    const routes = [{ host: LOAD_HOST, path: "/" }];
    await first.put({ id: "load", name: "load", routes, upstreams: [{ host: HOST, port }] });
    clients.begin();
    for (let change = 1; change <= CHANGES; change++) {
      await caddyProxy({ ...options, image: IMAGES[change % 2] ?? IMAGES[0] }).ensure();
      while (clients.requests() < (change * REQUESTS) / CHANGES)
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { failures } = await clients.end();
    for (const failure of failures.slice(0, 10)) console.log(`  ${failure}`);
    const name = `Requests failed in ${CHANGES} changes of a server's proxy, of ${clients.requests()} at ${REQUESTS_PER_SECOND}/s`;
    return [atMost(name, failures.length, 10)];
  } finally {
    await clients.end();
    upstream.close();
    await removeLabelled(docker, `berth.instance=${instance}`);
    await rm(folder, { recursive: true, force: true });
  }
}

const HOST = "127.0.0.1";

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  return (server.address() as AddressInfo).port; // It listens at TCP.
}

async function freePort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
