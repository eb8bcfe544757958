// Requests that fail while the proxy of a server is changed under them, between two images of Caddy and between Caddy and
// Traefik. Two programs share the ports for a second; a connection that was idle until then may be closed while its
// client sends.
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import { dockerClient } from "../packages/docker-client/src/client.ts";
import { localHost } from "../packages/host/src/local-host.ts";
import { freePort } from "../packages/host/src/testing.ts";
import { LOAD_HOST } from "../packages/proxy/src/caddy/load-clients.fixture.ts";
import { serverProxy } from "../packages/proxy/src/server/server-proxy.ts";
import { removeLabelled, testInstance } from "../packages/testing/src/docker-leftovers.ts";
import { clientsInThread } from "./load-thread.ts";
import { atMost, type Figure } from "./report.ts";

const CHANGES = 10;
const REQUESTS = 10_000;
const REQUESTS_PER_SECOND = 300;
const FAILURES_MAX = 10;

interface WantedProxy {
  readonly type: "CADDY" | "TRAEFIK";
  readonly image: string;
}
interface Pair {
  readonly name: string;
  readonly first: WantedProxy;
  readonly second: WantedProxy;
}
const CADDY: WantedProxy = { type: "CADDY", image: "caddy:2" };
const PAIRS: readonly Pair[] = [
  // Names of one image: to Berth they are two.
  { name: "between images of Caddy", first: CADDY, second: { type: "CADDY", image: "caddy:2-alpine" } },
  { name: "between Caddy and Traefik", first: CADDY, second: { type: "TRAEFIK", image: "traefik:v3" } },
];

export async function benchProxyChange(): Promise<readonly Figure[]> {
  const docker = dockerClient(localHost("here"));
  const images = await docker.listImages();
  const present = new Set(images.flatMap(({ RepoTags }) => RepoTags ?? []));
  const figures: Figure[] = [];
  for (const pair of PAIRS) {
    const missing = [pair.first.image, pair.second.image].filter((image) => !present.has(image));
    figures.push(missing.length > 0 ? notMeasured(pair, missing) : await changes(pair));
  }
  return figures;
}

const figureName = ({ name }: Pair, requests: string) =>
  `Requests failed in ${CHANGES} changes ${name}, of ${requests} at ${REQUESTS_PER_SECOND}/s`;

const notMeasured = (pair: Pair, missing: readonly string[]): Figure => ({
  name: figureName(pair, String(REQUESTS)),
  measured: `not measured: the engine has no image ${missing.join(", ")}`,
  wanted: `at most ${FAILURES_MAX}`,
  isReached: undefined,
});

async function changes(pair: Pair): Promise<Figure> {
  const instance = testInstance(`berth-bench-${randomBytes(4).toString("hex")}`);
  const host = localHost("here");
  const docker = dockerClient(host);
  const folder = await mkdtemp(join("/tmp", "berth-bench-"));
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const options = { host, docker, instance, folder, httpPort, httpsPort, tls: { issuer: "internal" } } as const;
  const proxyOf = ({ type, image }: WantedProxy) => serverProxy(type, { ...options, image });
  const upstream = createServer((request, response) => void request.pipe(response));
  const port = await listen(upstream);
  const clients = clientsInThread({ port: httpPort, requestsPerSecond: REQUESTS_PER_SECOND, talkers: 0 });
  try {
    const before = proxyOf(pair.first);
    await before.ensure();
    const routes = [{ host: LOAD_HOST, path: "/" }];
    await before.put({ id: "load", name: "load", routes, upstreams: [{ host: HOST, port }] });
    clients.begin();
    for (let change = 1; change <= CHANGES; change++) {
      await proxyOf(change % 2 === 1 ? pair.second : pair.first).ensure();
      while (clients.requests() < (change * REQUESTS) / CHANGES)
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const failures = await clients.end();
    for (const failure of failures.slice(0, 10)) console.log(`  ${failure}`);
    return atMost(figureName(pair, String(clients.requests())), failures.length, FAILURES_MAX);
  } finally {
    await clients.end().catch(() => undefined);
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
