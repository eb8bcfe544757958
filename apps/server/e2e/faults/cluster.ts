import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { dockerObjects, dockerProblem, SERVER_IMAGE, type SwarmServer, until } from "@berth/testing";
import { deployFirst, made, outcomeOf, placeOf, requestDeployment } from "../applications.fixture.ts";
import { ON_ALL_NODES, type TestCluster, testCluster } from "../cluster.fixture.ts";
import { setDockerfile } from "../placed-resource.fixture.ts";
import { expect } from "./checks.ts";
import { repeated } from "./load.ts";
import { NotSupported } from "./machine.ts";
import { atRowEnd } from "./row-end.ts";

const IMAGES = [SERVER_IMAGE, "node:24-alpine", "busybox:stable", "caddy:2"];
const CLIENTS = 6;
const LOSS_CLIENTS = 12;
/** Longer than the slowest answer of the applications, shorter than it with a dial that times out. */
const SLOW_MS = 450;
const PAUSE_MS = 50;
/** Of deployments, so that 50 have 10,000. */
const REQUESTS_EACH = 200;
const WINDOW_MS = 5000;

export interface ClusterSizes {
  readonly deployments: number;
  readonly losses: number;
}

/** Deploys two applications of three containers under requests. */
export async function clusterDeployments({ deployments }: ClusterSizes): Promise<string> {
  const made = await clusterWithApplications();
  return await deployUnderLoad(made, deployments);
}

/** Loses nodes under requests to two applications of three containers. */
export async function clusterLosses({ losses }: ClusterSizes): Promise<string> {
  const made = await clusterWithApplications();
  return await loseNodes(made, losses);
}

interface LoadedCluster extends TestCluster {
  readonly applications: readonly Application[];
}

async function clusterWithApplications(): Promise<LoadedCluster> {
  const problem = dockerProblem(IMAGES);
  if (problem !== undefined) throw new NotSupported(problem);
  const { fixture: docker, remove } = dockerObjects();
  atRowEnd(async () => {
    for (const failure of await remove()) console.log(failure);
  });
  const starting = testCluster(docker, { env: { BERTH_PATIENCE: "product" }, images: ["node:24-alpine"] });
  atRowEnd(() => starting.then(({ server }) => server.dispose()));
  const made = await starting;
  console.log("  the cluster is made");
  return { ...made, applications: [await deployed(made, "graceful"), await deployed(made, "rude")] };
}

interface Application {
  readonly uuid: string;
  readonly host: string;
  readonly manner: Manner;
}

/** Whether it answers what it has begun before it ends, or ends at once. */
type Manner = "graceful" | "rude";

const END: Readonly<Record<Manner, string>> = {
  graceful: "server.close(() => process.exit()), server.closeIdleConnections()",
  rude: "process.exit()",
};

function dockerfileOf(manner: Manner, version: number): string {
  const program = `const server = require("http").createServer((q, r) => setTimeout(() => r.end("${version}"), q.url === "/slow" ? 300 : 0)).listen(3000); process.on("SIGTERM", () => { ${END[manner]} })`;
  return `FROM node:24-alpine\nEXPOSE 3000\nCMD ${JSON.stringify(["node", "-e", program])}\n`;
}

async function deployed({ server, seen }: TestCluster, manner: Manner): Promise<Application> {
  const uuid = await made(server, "/applications/dockerfile", {
    ...{ ...(await placeOf(server)), server_uuid: seen.serverUuid, name: manner, ports_exposes: "3000" },
    ...{ ...ON_ALL_NODES, dockerfile: Buffer.from(dockerfileOf(manner, 0)).toString("base64") },
  });
  await deployFirst(server, uuid);
  const { fqdn } = (await server.rest("GET", `/applications/${uuid}`)).body as { fqdn: string };
  return { uuid, host: new URL(fqdn).hostname, manner };
}

async function deployUnderLoad({ server, manager, applications }: LoadedCluster, count: number): Promise<string> {
  const load = requestsTo(manager, applications);
  for (let number = 1; number <= count; number += 1) {
    const application = applications[number % applications.length];
    if (application === undefined) continue;
    await setDockerfile(server, application.uuid, dockerfileOf(application.manner, number));
    const { status, error, log } = await outcomeOf(server, await requestDeployment(server, application.uuid));
    expect(status === "finished", `deployment ${number} ${status}: ${error}\n${log}`);
    if (number % 10 === 0) console.log(`  ${number} deployments, ${load.sent.length} requests`);
  }
  await until(() => load.sent.length >= count * REQUESTS_EACH, { what: "enough requests were sent", seconds: 600 });
  await load.end();
  const failed = load.sent.filter(({ problem }) => problem !== undefined);
  const result = `${failed.length} of ${load.sent.length} requests failed over ${count} deployments of 3 replicas`;
  expect(failed.length === 0, `${result}: ${failed.map(({ problem }) => problem).slice(0, 5)}`);
  return result;
}

async function loseNodes(made: LoadedCluster, count: number): Promise<string> {
  const { nodes, manager, applications } = made;
  const load = requestsTo(manager, applications, LOSS_CLIENTS);
  const all: Loss[] = [];
  for (let number = 0; number < count; number += 1) {
    // The manager takes the requests, so only others are lost.
    const node = nodes[1 + (number % (nodes.length - 1))];
    if (node === undefined) continue;
    await until(async () => (await runningOn(node)) > 0, { what: "a container runs on the node" });
    await delay(WINDOW_MS);
    const beganMs = performance.now();
    await node.down();
    const endedMs = performance.now();
    const isMovedNow = () => isMoved(made, node, applications.length * ON_ALL_NODES.replicas);
    await until(isMovedNow, { what: "its containers run on other nodes", seconds: 90 });
    const movedMs = performance.now();
    await delay(WINDOW_MS);
    const afterMs = performance.now();
    // Those that the client has not given up yet.
    await until(() => load.open().every((since) => since > afterMs), { what: "the requests have ended", seconds: 60 });
    await node.up();
    await until(() => isPrepared(manager, node), { what: "the node gets containers again", seconds: 90 });
    const loss = lossOf(load.sent, { beganMs, endedMs, movedMs, afterMs });
    console.log(`  loss ${number + 1}: ${sentenceOf(loss)}`);
    all.push(loss);
    await deployAgain(made);
  }
  await load.end();
  const sum = (value: (loss: Loss) => number) => all.reduce((total, loss) => total + value(loss), 0);
  const ratio = (value: (loss: Loss) => number) =>
    (medianOf(all.map(value)) / medianOf(all.map((loss) => loss.before))).toFixed(2);
  const late = sum((loss) => loss.late);
  const result = `over ${count} losses of a node ${sum((loss) => loss.broken)} of ${sum((loss) => loss.inFlight)} requests failed that were in flight in the cluster and ${late} of ${sum((loss) => loss.requests)} that began later, median time of an answer ${ratio((loss) => loss.during)} times that before until its containers ran elsewhere, ${ratio((loss) => loss.after)} times after it`;
  expect(late === 0, `${result}: ${all.flatMap((loss) => loss.problems).slice(0, 5)}`);
  return result;
}

/** Spreads the containers over all nodes again: Swarm moves none to a node that is back. */
async function deployAgain({ server, applications }: LoadedCluster): Promise<void> {
  for (const { uuid } of applications) {
    const { status, error, log } = await outcomeOf(server, await requestDeployment(server, uuid));
    expect(status === "finished", `a deployment after a loss ${status}: ${error}\n${log}`);
  }
}

interface Loss {
  /** Requests that began after the loss and before the node was back. */
  readonly requests: number;
  /** Requests that were in flight to any node, and how many of them failed. */
  readonly inFlight: number;
  readonly broken: number;
  /** Failures among those that began when the node had gone. */
  readonly late: number;
  /** Requests that began when the node had gone and waited for a dial, and when the last of them began. */
  readonly slow: number;
  readonly lastSlowMs: number;
  readonly movedMs: number;
  readonly problems: readonly string[];
  /** Median answer times. */
  readonly before: number;
  readonly during: number;
  readonly after: number;
}

type Moments = Readonly<Record<"beganMs" | "endedMs" | "movedMs" | "afterMs", number>>;

function lossOf(sent: readonly SentRequest[], { beganMs, endedMs, movedMs, afterMs }: Moments): Loss {
  const later = sent.filter((one) => one.beganMs > endedMs && one.beganMs < afterMs);
  const before = sent.filter((one) => one.beganMs > beganMs - WINDOW_MS && one.endedMs < beganMs);
  const inFlight = sent.filter((one) => one.beganMs <= endedMs && one.endedMs >= beganMs);
  const late = later.filter(({ problem }) => problem !== undefined);
  const slow = later.filter((one) => timeOf(one) > SLOW_MS);
  const median = (requests: readonly SentRequest[]) => medianOf(requests.map(timeOf));
  const told = (one: SentRequest) =>
    `${one.method} ${one.path}: ${one.problem}, begun ${Math.round(one.beganMs - endedMs)} ms after the loss, ${Math.round(timeOf(one))} ms`;
  return {
    requests: later.length,
    inFlight: inFlight.length,
    broken: inFlight.filter(({ problem }) => problem !== undefined).length,
    late: late.length,
    slow: slow.length,
    lastSlowMs: Math.max(0, ...slow.map((one) => one.beganMs - endedMs)),
    movedMs: movedMs - endedMs,
    problems: [...inFlight.filter(({ problem }) => problem !== undefined), ...late].map(told),
    before: median(before),
    during: median(later.filter((one) => one.beganMs < movedMs)),
    after: median(later.filter((one) => one.beganMs > movedMs)),
  };
}

const sentenceOf = ({ slow, lastSlowMs, movedMs, problems, ...loss }: Loss): string =>
  `${loss.broken} of ${loss.inFlight} in flight and ${loss.late} of ${loss.requests} later requests failed; ${slow} took longer than ${SLOW_MS} ms, the last after ${Math.round(lastSlowMs)} ms; moved after ${Math.round(movedMs)} ms; median ${loss.before.toFixed(1)}, ${loss.during.toFixed(1)}, ${loss.after.toFixed(1)} ms ${problems.join("; ")}`;

const timeOf = ({ beganMs, endedMs }: SentRequest): number => endedMs - beganMs;

const medianOf = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;

const runningOn = async ({ client }: SwarmServer): Promise<number> =>
  (await client.listContainers({ filters: { label: ["berth.role=task"] } })).length;

async function isMoved({ nodes }: TestCluster, lost: SwarmServer, wanted: number): Promise<boolean> {
  const counts = await Promise.all(nodes.filter((node) => node !== lost).map(runningOn));
  return counts.reduce((sum, count) => sum + count, 0) === wanted;
}

async function isPrepared(manager: SwarmServer, { nodeId }: SwarmServer): Promise<boolean> {
  const nodes = (await manager.client.listNodes()) as readonly NodeAnswer[]; // Typed as any by the library.
  const labels = nodes.find(({ ID }) => ID === nodeId)?.Spec.Labels ?? {};
  return Object.keys(labels).some((name) => name.startsWith("berth.ready."));
}

interface NodeAnswer {
  readonly ID: string;
  readonly Spec: { readonly Labels?: Readonly<Record<string, string>> };
}

interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** `undefined`: it was answered. */
  readonly problem: string | undefined;
}

/** Clients that keep their connections and repeat nothing. A fifth of their requests takes 300 ms, half of these are POST. */
function requestsTo({ address }: SwarmServer, applications: readonly Application[], clients = CLIENTS) {
  const sent: SentRequest[] = [];
  const open = new Map<number, number>();
  const agents = Array.from({ length: clients }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  let count = 0;
  const stop = repeated(clients, async (client) => {
    count += 1;
    const { host = "" } = applications[client % applications.length] ?? {};
    const path = count % 5 === 0 ? "/slow" : "/";
    const method = count % 10 === 0 ? "POST" : "GET";
    const beganMs = performance.now();
    open.set(client, beganMs);
    const problem = await problemOf({ agent: agents[client], host: address, path, method, headers: { host } });
    open.delete(client);
    sent.push({ method, path, beganMs, endedMs: performance.now(), problem });
    await delay(PAUSE_MS);
  });
  return {
    sent,
    /** When the requests began that are not answered yet. */
    open: () => [...open.values()],
    async end() {
      await stop();
      for (const agent of agents) agent.destroy();
    },
  };
}

const problemOf = (options: object): Promise<string | undefined> =>
  new Promise((resolve) => {
    const asked = request({ ...options, port: 80, timeout: 20_000 }, (response) => {
      response.resume().once("error", ({ message }) => resolve(message));
      response.once("end", () => resolve(response.statusCode === 200 ? undefined : String(response.statusCode)));
    });
    asked
      .once("error", ({ message }) => resolve(message))
      .once("timeout", () => asked.destroy(new Error("no answer within 20 s")))
      .end();
  });
