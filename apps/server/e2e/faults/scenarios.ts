import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { until } from "@berth/testing";
import { outcomeOf } from "../applications.fixture.ts";
import type { TestServer } from "../server.fixture.ts";
import { canRead, expect, type Ground, isHealthy, ms } from "./checks.ts";
import { type ClusterSizes, clusterDeployments, clusterLosses } from "./cluster.ts";
import { clusterSteps } from "./cluster-steps.ts";
import { cutConnections } from "./cut-connections.ts";
import { cutEngine, type EngineCuts } from "./cut-engine.ts";
import { fullDisk, slowDisk } from "./disk.ts";
import { killEverything } from "./kill-everything.ts";
import { deployments, lostWrites, visitors, writers } from "./load.ts";
import { losePackets } from "./lost-packets.ts";
import { memoryGroup, NotSupported } from "./machine.ts";
import { descriptorsOf, familyOf, limitDescriptors, postmasterOf, proxyOf, rssMbOf, signal } from "./processes.ts";
import { atRowEnd } from "./row-end.ts";

export interface Sizes {
  readonly restarts: number;
  readonly frozenSeconds: number;
  readonly halfOpen: number;
  readonly kills: number;
  readonly engine: EngineCuts;
  /** Of each kind of connection, at each moment. */
  readonly cuts: number;
  readonly cluster: ClusterSizes;
}

export interface Scenario {
  readonly name: (sizes: Sizes) => string;
  /** Summary of the effects. @throws Error when a guarantee of docs/reliability.md was broken. */
  run(ground: Ground, sizes: Sizes): Promise<string>;
}

/** Every scenario leaves the server as it found it. */
export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  restarts: {
    name: ({ restarts }) =>
      `Database restarted ${restarts} times, immediate and fast in turns, under four writers and deployments`,
    run: (ground, { restarts }) => sameProcess(ground, () => restartDatabase(ground, restarts)),
  },
  freeze: {
    name: ({ frozenSeconds }) => `Database frozen (SIGSTOP) for ${frozenSeconds} s under reads`,
    run: (ground, { frozenSeconds }) => sameProcess(ground, () => freezeDatabase(ground, frozenSeconds)),
  },
  "half-open": {
    name: ({ halfOpen }) => `${halfOpen} half-open requests, and as many resets in the middle of a body`,
    run: (ground, { halfOpen }) => sameProcess(ground, () => halfOpenRequests(ground, halfOpen)),
  },
  proxy: {
    name: ({ kills }) => `Embedded proxy killed, ${kills} times, under requests to a site`,
    run: (ground, { kills }) => sameProcess(ground, () => killProxy(ground, kills)),
  },
  postmaster: {
    name: () => "Postmaster of the embedded database killed under writers and requests to a site",
    run: (ground) => sameProcess(ground, () => killPostmaster(ground)),
  },
  server: {
    name: ({ kills }) => `Server killed and started again, ${kills} times, under requests to a site`,
    run: (ground, { kills }) => killServer(ground, kills),
  },
  descriptors: {
    name: () => "160 file descriptors, 400 connections",
    run: (ground) => sameProcess(ground, () => fewDescriptors(ground)),
  },
  memory: {
    name: () => "A control group of 256 MB, under writers and lists",
    run: (ground) => sameProcess(ground, () => littleMemory(ground)),
  },
  engine: {
    name: ({ engine: { deployments, cutMs } }) =>
      `Half of all connections to the Docker engine cut every ${cutMs} ms, and a quarter of its answers damaged half of the time, under ${deployments} deployments`,
    run: (_ground, { engine }) => cutEngine(engine),
  },
  connections: {
    name: ({ cuts }) =>
      `Each kind of connection cut ${cuts} times at each moment: idle, in a request, in an answer, in a stream, under load`,
    run: (_ground, { cuts }) => cutConnections(cuts),
  },
  cluster: {
    name: ({ cluster: { deployments } }) =>
      `${deployments} deployments to a cluster of three nodes, under requests to applications that end gracefully and at once`,
    run: (_ground, sizes) => clusterDeployments(sizes.cluster),
  },
  "cluster-losses": {
    name: ({ cluster: { losses } }) =>
      `${losses} losses of a node of a cluster, under requests to applications that end gracefully and at once`,
    run: (_ground, sizes) => clusterLosses(sizes.cluster),
  },
  "cluster-steps": {
    name: () =>
      "Server killed before, in and after each step of a deployment to a cluster, a deployment cancelled in each, and the manager cut off in each",
    run: clusterSteps,
  },
  disk: { name: () => "Disk of the data folder full, under writers", run: fullDisk },
  "slow-disk": { name: () => "Disk of the data folder at 50 writes a second, under writers", run: slowDisk },
  packets: {
    name: () => "5 % of the packets between Berth and its database lost for 20 s, under four writers",
    run: losePackets,
  },
  everything: {
    name: () => "Every process of Berth's killed in turn, under writers, deployments and requests to a site",
    run: killEverything,
  },
  clock: {
    name: () => "A clock that jumps",
    run: async () => {
      throw new NotSupported("the clock is the machine's own; a jump would reach everything else on it");
    },
  },
};

async function sameProcess({ server }: Ground, work: () => Promise<string>): Promise<string> {
  const pid = server.pid();
  const happened = await work();
  expect(server.pid() === pid && (await isHealthy(server)), "the server's process ended");
  return happened;
}

async function restartDatabase({ server, uuid }: Ground, restarts: number): Promise<string> {
  const [writing, deploying] = [writers(server, 4), deployments(server, uuid)];
  for (let n = 0; n < restarts; n += 1) {
    await delay(500);
    const postmaster = postmasterOf(server);
    // The same as `pg_ctl stop -m immediate` and `-m fast`; Berth restarts the database.
    process.kill(postmaster, n % 2 === 0 ? "SIGQUIT" : "SIGINT");
    await until(() => isAnotherPostmaster(server, postmaster), { what: "the database is started again", seconds: 60 });
    await until(() => canRead(server), { what: "reads are answered", seconds: 60 });
  }
  const [{ acknowledged, refused }, queued] = [await writing.end(), await deploying.end()];
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  const outcomes = await Promise.all(queued.map((one) => outcomeOf(server, one, 180_000)));
  const finished = outcomes.filter(({ status }) => status === "finished").length;
  return `${acknowledged.length} writes acknowledged, none lost, ${refused} refused; ${finished} of ${queued.length} deployments finished`;
}

async function freezeDatabase({ server }: Ground, seconds: number): Promise<string> {
  const frozen = familyOf(postmasterOf(server));
  const reads: number[] = [];
  let healthFailures = 0;
  const thaw = () => {
    for (const pid of frozen) signal(pid, "SIGCONT");
  };
  atRowEnd(thaw);
  for (const pid of frozen) signal(pid, "SIGSTOP");
  const endsAt = performance.now() + seconds * 1000;
  while (performance.now() < endsAt) {
    if (!(await isHealthy(server))) healthFailures += 1;
    const beganAt = performance.now();
    const { status } = await server.rest("GET", "/projects").catch(() => ({ status: 0 }));
    expect(status === 503, `a read of a frozen database answers ${status}`);
    reads.push(performance.now() - beganAt);
    await delay(50);
  }
  thaw();
  expect(healthFailures === 0, `health failed ${healthFailures} times`);
  const beganAt = performance.now();
  await until(() => canRead(server), { what: "reads are answered again", seconds: 30 });
  return `${reads.length} reads got 503, the slowest after ${ms(Math.max(...reads))}; right again after ${ms(performance.now() - beganAt)}`;
}

async function halfOpenRequests({ server }: Ground, count: number): Promise<string> {
  const { port, hostname } = new URL(server.url);
  const sockets: Socket[] = [];
  const open = (text: string) => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.write(text);
    sockets.push(socket);
    return socket;
  };
  try {
    for (let n = 0; n < count; n += 1) open("GET /api/v1/version HTTP/1.1\r\nhost: x\r\nx-half: ");
    const head = `POST /api/v1/projects HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${server.token}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{`;
    for (let n = 0; n < count; n += 1) {
      const socket = open(head);
      socket.once("connect", () => setImmediate(() => socket.resetAndDestroy()));
    }
    await until(() => isHealthy(server), { what: "health is answered beside them" });
    // Connections of an address are limited, so the test's own client may be refused too.
    const refused = await canRead(server).then((can) => !can);
    return refused
      ? "health answered; the address itself was refused meanwhile"
      : "health and reads answered throughout";
  } finally {
    for (const socket of sockets) socket.destroy();
    await until(() => canRead(server), { what: "reads are answered afterwards" });
  }
}

async function killProxy({ server, host }: Ground, kills: number): Promise<string> {
  const dark: number[] = [];
  for (let n = 0; n < kills; n += 1) {
    const visiting = visitors(server, host);
    await delay(300);
    const before = proxyOf(server);
    process.kill(before, "SIGKILL");
    await until(() => isAnotherProxy(server, before), { what: "the proxy is started again" });
    await delay(500);
    dark.push((await visiting.end()).darkMs);
  }
  const worst = Math.max(...dark);
  expect(worst < 10_000, `the site was dark for ${ms(worst)}`);
  return `dark for ${dark.map(ms).join(", ")}, then right`;
}

async function killPostmaster({ server, host }: Ground): Promise<string> {
  const [writing, visiting] = [writers(server, 2), visitors(server, host)];
  await delay(300);
  const before = postmasterOf(server);
  process.kill(before, "SIGKILL");
  const beganAt = performance.now();
  await until(() => isAnotherPostmaster(server, before), { what: "the database is started again", seconds: 60 });
  await until(() => canRead(server), { what: "reads are answered", seconds: 60 });
  const tookMs = performance.now() - beganAt;
  const [{ acknowledged }, { failed, answered }] = [await writing.end(), await visiting.end()];
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  expect(failed === 0, `${failed} requests to the site failed`);
  return `right after ${ms(tookMs)}; none of ${acknowledged.length} acknowledged writes lost, none of ${answered} requests to the site failed`;
}

async function killServer({ server, host }: Ground, kills: number): Promise<string> {
  const visiting = visitors(server, host);
  for (let n = 0; n < kills; n += 1) {
    await server.kill();
    await server.start();
  }
  const { failed, answered } = await visiting.end();
  expect(failed === 0, `${failed} requests to the site failed`);
  expect(await canRead(server), "reads are not answered");
  return `none of ${answered} requests to the site failed`;
}

async function fewDescriptors({ server }: Ground): Promise<string> {
  const pid = server.pid();
  atRowEnd(() => limitDescriptors(pid, 65_536));
  if (!limitDescriptors(pid, 160)) throw new NotSupported("prlimit is not installed, or not allowed");
  const { port, hostname } = new URL(server.url);
  const sockets = Array.from({ length: 400 }, () => connect(Number(port), hostname).on("error", () => undefined));
  await delay(2000);
  const open = descriptorsOf(pid);
  for (const socket of sockets) socket.destroy();
  await until(() => canRead(server), { what: "reads are answered afterwards", seconds: 60 });
  return `${open} open at most; answered again as soon as connections ended`;
}

async function littleMemory({ server }: Ground): Promise<string> {
  const group = memoryGroup(256);
  atRowEnd(() => group.remove(server.pid()));
  group.move(server.pid());
  const writing = writers(server, 4);
  for (let n = 0; n < 100; n += 1) await server.rest("GET", "/projects").catch(() => undefined);
  const { acknowledged } = await writing.end();
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  return `${rssMbOf(server.pid()).toFixed(0)} MB; none of ${acknowledged.length} acknowledged writes lost`;
}

/** The file of the pid is away while the database starts. */
function isAnotherPostmaster(server: TestServer, before: number): boolean {
  try {
    return postmasterOf(server) !== before;
  } catch {
    return false;
  }
}

function isAnotherProxy(server: TestServer, before: number): boolean {
  try {
    return proxyOf(server) !== before;
  } catch {
    return false;
  }
}
