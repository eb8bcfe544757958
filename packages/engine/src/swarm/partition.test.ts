import type { ReleaseSpec } from "@berth/core/deploy";
import { describeDocker, eventually, SERVER_IMAGE, until } from "@berth/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { IMAGES, io, specOf } from "../docker/docker.fixture.ts";
import type { SwarmEngine } from "./engine.ts";
import { clusterNodes } from "./nodes.ts";
import { readyLabel } from "./placement.ts";
import { type SwarmWorld, swarmWorld } from "./swarm.fixture.ts";

/** Prints numbered lines, each with an id of its container. */
const COUNTER =
  "const id = process.pid + '-' + Math.random(); let n = 0; setInterval(() => console.log(id, ++n), 100); process.on('SIGTERM', () => process.exit())";

describeDocker("a swarm whose nodes cannot all reach each other", [...IMAGES, SERVER_IMAGE], (fixture) => {
  let world: SwarmWorld;
  let engine: SwarmEngine;
  /** Called before an image is loaded on a node. */
  let onLoad: (node: string) => Promise<void> = async () => undefined;
  beforeAll(async () => {
    world = await swarmWorld(fixture, { nodes: 3 });
    const nodes = world.nodes.map((node) => {
      const load: typeof node.images.load = async (...args) => {
        await onLoad(node.name);
        return await node.images.load(...args);
      };
      return { ...node, images: { ...node.images, load } };
    });
    engine = world.engine({ nodes: async () => nodes, returnSeconds: 1 });
  });
  afterAll(() => world.close());

  const started = async (change: Partial<ReleaseSpec> = {}) => {
    const spec = specOf(await world.image(`CMD ${JSON.stringify(["node", "-e", COUNTER])}`), {
      replicas: 3,
      ...change,
    });
    await engine.start(spec, io());
    return spec;
  };
  const states = async (spec: ReleaseSpec) => (await engine.inspect(spec))?.containers?.map(({ state }) => state);
  const ALL_RUN = ["running", "running", "running"];
  const isReady = async (nodeId: string) =>
    (await clusterNodes(world.manager.docker)).find(({ id }) => id === nodeId)?.isReady;
  const worker = () => {
    const [manager, other, cut] = world.servers;
    if (manager === undefined || other === undefined || cut === undefined)
      throw new Error("The swarm has three nodes.");
    return { manager, other, cut };
  };

  /** Follows the log as clients do: behind the last line after each lost connection, which `reconnect` makes one. */
  function follower(spec: ReleaseSpec) {
    const seen = new Map<string, number[]>();
    let after: string | undefined;
    let isOver = false;
    let connection = new AbortController();
    const loop = (async () => {
      while (!isOver) {
        connection = new AbortController();
        try {
          const query = { follow: true, signal: connection.signal, ...(after === undefined ? {} : { after }) };
          for await (const { line, cursor } of engine.logs(spec, query)) {
            const [id = "", count] = line.split(" ");
            seen.set(id, [...(seen.get(id) ?? []), Number(count)]);
            after = cursor;
          }
        } catch {
          // A client connects again.
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    })();
    const end = async () => {
      isOver = true;
      connection.abort();
      await loop;
    };
    onTestFinished(end);
    return { seen, end, reconnect: () => connection.abort() };
  }
  /** Counts of each container without gap or repeat. */
  const complete = (seen: ReadonlyMap<string, readonly number[]>) => {
    for (const [id, counts] of seen) expect(counts, id).toEqual(counts.map((_, at) => at + 1));
  };
  const printed = async (logs: ReturnType<typeof follower>, containers: number, more = 10) => {
    const before = new Map([...logs.seen].map(([id, counts]) => [id, counts.length]));
    await until(
      () => [...logs.seen].filter(([id, counts]) => counts.length >= (before.get(id) ?? 0) + more).length >= containers,
      { seconds: 60 },
    );
  };

  test("works on without a node that only Berth cannot reach, and has each line of its log when it is back", async () => {
    const { cut } = worker();
    const spec = await started();
    const [steady, broken] = [follower(spec), follower(spec)];
    await printed(steady, 3);
    await printed(broken, 3);
    await cut.cutFrom(cut.outside);
    onTestFinished(() => cut.joinTo(cut.outside).catch(() => undefined));
    broken.reconnect();
    await printed(steady, 2);
    broken.reconnect();
    await printed(broken, 2);
    expect(await isReady(cut.nodeId)).toBe(true);
    expect(await states(spec)).toEqual(ALL_RUN);
    // Another release is started, without this node, and removed.
    const other = await started({ replicas: 2 });
    const tasks = await world.manager.docker.listTasks({ filters: JSON.stringify({ node: [cut.nodeId] }) });
    expect(tasks.filter(({ DesiredState }) => DesiredState === "running")).toHaveLength(1);
    await engine.remove(other, { graceSeconds: 0 });
    await cut.joinTo(cut.outside);
    for (const logs of [steady, broken]) {
      await printed(logs, 3);
      await logs.end();
      complete(logs.seen);
      expect(logs.seen.size).toBe(3);
    }
    expect(await states(spec)).toEqual(ALL_RUN);
    await engine.remove(spec, { graceSeconds: 0 });
    await eventually(async () => expect(await world.containersOf(other)).toEqual([]));
    expect(await world.containersOf(spec)).toEqual([]);
  });

  test("has nothing of a release that was replaced while the managers did not reach its node", async () => {
    const { manager, other, cut } = worker();
    const spec = await started();
    const runningOn = async (nodeId: string) =>
      (await world.containersOf({})).filter(
        ({ State, Labels }) => State === "running" && Labels["com.docker.swarm.node.id"] === nodeId,
      );
    const others = [manager.address, other.address];
    await cut.cutFrom(...others);
    onTestFinished(() => cut.joinTo(...others).catch(() => undefined));
    await until(async () => (await isReady(cut.nodeId)) === false, { seconds: 60 });
    const next = await started();
    // The old container still runs. It belongs to no release that is shown, so it gets no requests.
    expect(await runningOn(cut.nodeId)).toHaveLength(1);
    const image = cut.client.getImage(spec.artifact.type === "image" ? spec.artifact.image : "");
    const own = { repo: `berth/${spec.resourceUuid}`, tag: spec.deploymentUuid };
    await image.tag(own);
    await engine.remove(spec, { graceSeconds: 0 });
    expect(await states(next)).toEqual(ALL_RUN);
    expect(await runningOn(cut.nodeId)).toEqual([]);
    expect((await image.inspect()).RepoTags).not.toContain(`${own.repo}:${own.tag}`);
    expect((await engine.list()).map(({ deploymentUuid }) => deploymentUuid)).toEqual([next.deploymentUuid]);
    await cut.joinTo(...others);
    await until(async () => (await isReady(cut.nodeId)) === true, { seconds: 60 });
    expect(await world.containersOf(spec)).toEqual([]);
    expect(await states(next)).toEqual(ALL_RUN);
    await engine.remove(next, { graceSeconds: 0 });
    expect(await world.containersOf({})).toEqual([]);
  });

  test("waits for a node that Berth reaches and the managers do not yet, until it is told not to", async () => {
    const { manager, other, cut } = worker();
    const image = await world.image();
    const patient = world.engine({ returnSeconds: 600 });
    const others = [manager.address, other.address];
    await cut.cutFrom(...others);
    onTestFinished(() => cut.joinTo(...others).catch(() => undefined));
    await until(async () => (await isReady(cut.nodeId)) === false, { seconds: 60 });
    const lines: string[] = [];
    const waits = () => lines.filter((line) => /^Waits until the managers of the cluster reach \S+$/.test(line)).length;
    const placement = { constraints: [`node.id==${cut.nodeId}`], isOnlyOnWorkers: false };
    const start = (signal: AbortSignal) => {
      const spec = specOf(image, { placement });
      const starting = patient.start(spec, { ...io(), signal, onLine: (line) => lines.push(line) });
      starting.catch(() => undefined);
      return { spec, starting };
    };
    const cancelling = new AbortController();
    const cancelled = start(cancelling.signal).starting;
    await until(() => waits() === 1, { seconds: 60 });
    cancelling.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "deploy.cancelled" });

    const { spec, starting } = start(new AbortController().signal);
    await until(() => waits() === 2, { seconds: 60 });
    await cut.joinTo(...others);
    await starting;
    expect((await world.containersOf(spec)).map(({ Labels }) => Labels["com.docker.swarm.node.id"])).toEqual([
      cut.nodeId,
    ]);
    await engine.remove(spec, { graceSeconds: 0 });
    await patient.close();
  });

  test("starts nothing on a node that came back while a release was prepared without it", async () => {
    const { manager, other, cut } = worker();
    const spec = await started();
    const others = [manager.address, other.address];
    await cut.cutFrom(...others);
    onTestFinished(() => cut.joinTo(...others).catch(() => undefined));
    await until(async () => (await isReady(cut.nodeId)) === false, { seconds: 60 });
    const getsTasks = async () => {
      const node = (await clusterNodes(world.manager.docker)).find(({ id }) => id === cut.nodeId);
      return node?.isReady === true && node.labels[readyLabel(fixture.instance)] !== undefined;
    };
    await until(async () => !(await getsTasks()), { seconds: 60 });
    let isBack = false;
    onLoad = async (name) => {
      if (isBack || name === cut.name) return;
      isBack = true;
      await cut.joinTo(...others);
      await until(getsTasks, { seconds: 60 });
    };
    onTestFinished(() => {
      onLoad = async () => undefined;
    });
    const next = specOf(await world.image(`LABEL of=${fixture.name("image")}`), { replicas: 3 });
    await engine.start(next, io());
    expect(isBack).toBe(true);
    expect(await states(next)).toEqual(ALL_RUN);
    expect((await world.containersOf(next)).length).toBe(3);
    for (const one of [spec, next]) await engine.remove(one, { graceSeconds: 0 });
    expect(await world.containersOf({})).toEqual([]);
  });

  test("has what a node runs that the managers do not reach in its log, but not among its containers", async () => {
    const { manager, other, cut } = worker();
    const spec = await started();
    const [steady, broken] = [follower(spec), follower(spec)];
    await printed(steady, 3);
    const others = [manager.address, other.address];
    await cut.cutFrom(...others);
    onTestFinished(() => cut.joinTo(...others).catch(() => undefined));
    await until(async () => (await isReady(cut.nodeId)) === false, { seconds: 60 });
    await eventually(async () => expect(await states(spec)).toEqual(ALL_RUN));
    await until(() => steady.seen.size === 4, { seconds: 60 });
    broken.reconnect();
    await printed(broken, 3);
    await cut.joinTo(...others);
    await until(async () => (await isReady(cut.nodeId)) === true, { seconds: 60 });
    // The swarm ends what it has started elsewhere.
    await eventually(async () => {
      const running = (await world.containersOf(spec)).filter(({ State }) => State === "running");
      expect(running).toHaveLength(3);
    });
    expect(await states(spec)).toEqual(ALL_RUN);
    for (const logs of [steady, broken]) {
      await printed(logs, 3);
      await logs.end();
      complete(logs.seen);
    }
    await engine.remove(spec, { graceSeconds: 0 });
    expect(await world.containersOf(spec)).toEqual([]);
  });
});
