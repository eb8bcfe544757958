// Engines without containers: `node simulated-engines.ts FOLDER COUNT [SIZE]` listens on FOLDER/server-N.sock, one per
// engine. With a SIZE, as many at a time are the nodes of a swarm, and an HTTP server answers on FOLDER/port.
import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { type EngineEvent, type Filters, hasLabels, SimulatedSwarm } from "./simulated-swarm.ts";

const [folder = "", count = "0", size = "0"] = process.argv.slice(2);

/** Every engine has every image. */
const IMAGE = {
  Id: `sha256:${"1".repeat(64)}`,
  RepoTags: [],
  RootFS: { Layers: [`sha256:${"2".repeat(64)}`] },
  Config: {},
};

const ANSWERS: Readonly<Record<string, object>> = {
  "/version": { Version: "28.5.2", ApiVersion: "1.51", MinAPIVersion: "1.24", Os: "linux", Arch: "amd64" },
  "/info": {
    ...{ OSType: "linux", Architecture: "x86_64", OperatingSystem: "Debian GNU/Linux 13", KernelVersion: "6.12" },
    ...{ NCPU: 4, MemTotal: 8 * 1024 ** 3, DockerRootDir: "/", ServerVersion: "28.5.2" },
  },
  "/containers/json": [],
  "/images/json": [],
  "/networks": [],
  "/images/create": { status: "Already here" },
  "/volumes": { Volumes: [], Warnings: null },
};

interface Follower {
  readonly response: ServerResponse;
  readonly filters: Filters & { readonly type?: readonly string[] };
}

/** Streams of events that stay open, by the number of the engine. */
const following = new Map<number, Set<Follower>>();

const swarms = Array.from({ length: Number(size) === 0 ? 0 : Number(count) / Number(size) }, (_, swarm) => {
  const emit = (node: number, event: EngineEvent) => {
    const { Type: type, Actor: actor } = event;
    for (const { response, filters } of following.get(swarm * Number(size) + node) ?? []) {
      const isWanted = filters.type?.includes(type) !== false && hasLabels(filters, actor.Attributes);
      if (isWanted) response.write(`${JSON.stringify(event)}\n`);
    }
  };
  return new SimulatedSwarm(`swarm ${swarm}`, Number(size), emit);
});

for (let n = 0; n < Number(count); n += 1) {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://engine");
    const path = pathname.replace(/^\/v1\.\d+/, "");
    response.setHeader("Api-Version", "1.51");
    if (path === "/_ping") return void response.end("OK");
    if (path === "/events") return void follow(n, { response, filters: JSON.parse(query.get("filters") ?? "{}") });
    const method = request.method ?? "GET";
    const body: unknown = method === "POST" ? await json(request).catch(() => ({})) : {};
    const [swarm, node] = [swarms[Math.floor(n / Number(size))], n % Number(size)];
    const info = path === "/info" && swarm !== undefined ? { Swarm: swarm.info(node) } : undefined;
    const answer = swarm?.answer(node, { method, path, query, body }) ?? known(path, info);
    response.setHeader("content-type", "application/json");
    response.writeHead(answer.status).end(JSON.stringify(answer.body));
  });
  // A Docker engine leaves idle connections open. Node ends them after five seconds, and says so in each answer.
  server.keepAliveTimeout = 0;
  server.listen(join(folder, `server-${n + 1}.sock`));
}

if (swarms.length > 0) {
  const application = createServer((_request, response) => response.end("simulated"));
  application.listen(0, "127.0.0.1", () => {
    writeFileSync(join(folder, "port"), String((application.address() as AddressInfo).port));
  });
}

function follow(n: number, follower: Follower): void {
  const { response } = follower;
  response.writeHead(200, { "content-type": "application/json" }).flushHeaders();
  const streams = following.get(n) ?? new Set();
  following.set(n, streams.add(follower));
  response.once("close", () => streams.delete(follower));
}

function known(path: string, more: object = {}): { readonly status: number; readonly body: unknown } {
  const body = /^\/images\/.+\/(?:json|tag)$/.test(path) ? IMAGE : ANSWERS[path];
  if (body === undefined) return { status: 404, body: { message: `No such object: ${path}` } };
  return { status: 200, body: Array.isArray(body) ? body : { ...body, ...more } };
}
