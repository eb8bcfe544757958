// Engines of simulated containers: `node simulated-engines.ts FOLDER COUNT [SIZE]` listens on FOLDER/server-N.sock, one
// per engine. With a SIZE, as many at a time are the nodes of a swarm. The application of all containers listens on the
// port of loopback that FOLDER/port holds, and FOLDER/control.sock changes what runs.
import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { idOf, SimulatedMachine } from "./simulated-machine.ts";
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
  "/images/json": [],
  "/images/create": { status: "Already here" },
  "/volumes": { Volumes: [], Warnings: null },
};

export interface Copy {
  /** From 0. */
  readonly engine: number;
  readonly resource: string;
  readonly deployment: string;
}

const CONTROLS: Readonly<Record<string, (body: unknown) => unknown>> = {
  /** Adds copies of the first engine's container for other releases, with a check of their image that passes. */
  "/copies": (body) => {
    const original = machines[0]?.containers()[0];
    if (original === undefined) throw new Error("The first engine has no container to copy.");
    for (const { engine, resource, deployment } of body as readonly Copy[]) {
      const labels = { ...original.labels, "berth.resource": resource, "berth.deployment": deployment };
      const name = original.name.replace(original.labels["berth.deployment"] ?? "", deployment);
      machines[engine]?.add({ ...original, id: idOf(deployment), name, labels, health: "healthy" });
    }
  },
  /** Ends the containers of these resources. */
  "/exits": (body) => {
    const resources = new Set(body as readonly string[]);
    for (const machine of machines) {
      for (const one of machine.containers()) if (resources.has(one.labels["berth.resource"] ?? "")) machine.exit(one);
    }
  },
  /** How often each kind of call was made since this was asked last. */
  "/calls": () => {
    const made = Object.fromEntries(calls);
    calls.clear();
    return made;
  },
  /** The most streams of events that one follower should have open, for each engine. */
  "/followers": () =>
    machines.map((_, engine) => {
      const counts = new Map<string, number>();
      for (const { filters } of following.get(engine) ?? []) {
        const key = JSON.stringify(filters);
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
      return Math.max(0, ...counts.values());
    }),
};

const calls = new Map<string, number>();

/** Names become `*`. */
const kindOf = (method: string, path: string): string => `${method} ${path.replace(/^(\/[a-z]+\/)[^/]{12,}/, "$1*")}`;

interface Follower {
  readonly response: ServerResponse;
  readonly filters: Filters & { readonly type?: readonly string[] };
}

/** Streams of events that stay open, by the number of the engine. */
const following = new Map<number, Set<Follower>>();

const emitAt = (engine: number, event: EngineEvent) => {
  const { Type: type, Actor: actor } = event;
  for (const { response, filters } of following.get(engine) ?? []) {
    const isWanted = filters.type?.includes(type) !== false && hasLabels(filters, actor.Attributes);
    if (isWanted) response.write(`${JSON.stringify(event)}\n`);
  }
};

const machines = Array.from({ length: Number(count) }, (_, n) => new SimulatedMachine((event) => emitAt(n, event)));

const swarms = Array.from({ length: Number(size) === 0 ? 0 : Number(count) / Number(size) }, (_, swarm) => {
  return new SimulatedSwarm(`swarm ${swarm}`, Number(size), (node, event) =>
    emitAt(swarm * Number(size) + node, event),
  );
});

for (let n = 0; n < Number(count); n += 1) {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://engine");
    const path = pathname.replace(/^\/v1\.\d+/, "");
    const kind = kindOf(request.method ?? "GET", path);
    calls.set(kind, (calls.get(kind) ?? 0) + 1);
    response.setHeader("Api-Version", "1.51").setHeader("Server", "Docker/28.5.2 (linux)");
    if (path === "/_ping") return void response.end("OK");
    if (path === "/events") return void follow(n, { response, filters: JSON.parse(query.get("filters") ?? "{}") });
    const method = request.method ?? "GET";
    const body: unknown = method === "POST" ? await json(request).catch(() => ({})) : {};
    const [swarm, node] = [swarms[Math.floor(n / Number(size))], n % Number(size)];
    const info = path === "/info" && swarm !== undefined ? { Swarm: swarm.info(node) } : undefined;
    const asked = { method, path, query, body };
    const answer = (swarm === undefined ? machines[n]?.answer(asked) : swarm.answer(node, asked)) ?? known(path, info);
    response.setHeader("content-type", "application/json");
    response.writeHead(answer.status).end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
  });
  // A Docker engine leaves idle connections open. Node ends them after five seconds, and says so in each answer.
  server.keepAliveTimeout = 0;
  server.listen(join(folder, `server-${n + 1}.sock`));
}

const application = createServer((_request, response) => response.end("simulated"));
application.listen(0, "127.0.0.1", () => {
  writeFileSync(join(folder, "port"), String((application.address() as AddressInfo).port));
});

createServer(async (request, response) => {
  const body = request.method === "POST" ? await json(request) : undefined;
  response.end(JSON.stringify(CONTROLS[request.url ?? ""]?.(body) ?? null));
}).listen(join(folder, "control.sock"));

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
