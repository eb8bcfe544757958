import type { ReleaseSpec, StorageMount } from "@berth/core/deploy";
import { ownedLabels } from "@berth/docker-client";
import { describeDocker, eventually, SERVER_IMAGE } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { IMAGES, io, specOf } from "../docker/docker.fixture.ts";
import type { SwarmEngine } from "./engine.ts";
import { imageWithFiles, spreadImage } from "./images.ts";
import { clusterNodes, updateNode } from "./nodes.ts";
import { type SwarmWorld, swarmWorld } from "./swarm.fixture.ts";

describeDocker("a release with several containers on a swarm", [...IMAGES, SERVER_IMAGE], (fixture) => {
  let world: SwarmWorld;
  let engine: SwarmEngine;
  beforeAll(async () => {
    world = await swarmWorld(fixture, { nodes: 3 });
    engine = world.engine();
  });
  afterAll(() => world.close());

  const started = async (change: Partial<ReleaseSpec> = {}) => {
    const spec = specOf(await world.image(), { replicas: 3, ...change });
    await engine.start(spec, io());
    return spec;
  };
  const containers = async (spec: ReleaseSpec) => (await engine.inspect(spec))?.containers ?? [];
  const ask = (host: string | null, path: string) =>
    eventually(async () => {
      const answer = await world.ask(engine, { host: host ?? "", port: 3000 }, `/${path}`);
      expect(answer.status).toBe(200);
      return answer.body;
    });
  const nodesOf = async (spec: ReleaseSpec) =>
    (await world.containersOf(spec)).filter(({ State }) => State === "running").map(({ Labels }) => Labels[NODE]);
  const remove = (spec: ReleaseSpec) => engine.remove(spec, { graceSeconds: 0 });

  test("has an address of each, and spreads them over the nodes, which all have the image", async () => {
    const spec = await started();
    const all = await containers(spec);
    expect(all.map(({ name, number, state }) => [name, number, state])).toEqual(
      [1, 2, 3].map((number) => ["replica", number, "running"]),
    );
    expect(new Set(all.map(({ address }) => address)).size).toBe(3);
    for (const { address } of all) expect(Number(await ask(address, "pid"))).toBeGreaterThan(0);
    expect(new Set(await nodesOf(spec)).size).toBe(3);
    await remove(spec);
    expect(await world.containersOf(spec)).toEqual([]);
  });

  test("gives values that look like templates as they are", async () => {
    const spec = await started({ replicas: 1, env: { ATTACK: `{{.Node.ID}} {{ {{{ }} {{"x"}}` } });
    const host = (await engine.inspect(spec))?.upstream?.host ?? null;
    expect(JSON.parse(await ask(host, "env?name=ATTACK"))).toBe(`{{.Node.ID}} {{ {{{ }} {{"x"}}`);
    await remove(spec);
  });

  test("grows and shrinks while the others continue, and says which leave before they end", async () => {
    const spec = await started({ replicas: 1 });
    const scale = (replicas: number) => engine.containers.scale(spec, replicas, { graceSeconds: 2, files: [] });
    const first = (await engine.inspect(spec))?.upstream;
    expect((await scale(4))?.containers).toHaveLength(4);
    expect((await containers(spec)).map(({ address }) => address)).toContain(first?.host);
    const seen: { readonly running: number; readonly shown: number }[] = [];
    const stop = engine.onStateChange(async ({ deploymentUuid, containers: shown = [] }) => {
      if (deploymentUuid !== spec.deploymentUuid) return;
      seen.push({ shown: shown.length, running: (await nodesOf(spec)).length });
    });
    expect((await scale(2))?.containers).toHaveLength(2);
    stop();
    expect(await nodesOf(spec)).toHaveLength(2);
    expect(seen).toContainEqual({ shown: 2, running: 4 });
    for (const { address } of await containers(spec)) await ask(address, "pid");
    await remove(spec);
  });

  test("replaces one that was killed, and leaves the others alone", async () => {
    const spec = await started();
    const [one, two, three] = await containers(spec);
    await ask(one?.address ?? null, "kill");
    await eventually(async () => {
      const now = await containers(spec);
      expect(now.map(({ state, restartCount }) => [state, restartCount])).toEqual([
        ["running", 1],
        ["running", 0],
        ["running", 0],
      ]);
      expect(now.slice(1).map(({ address }) => address)).toEqual([two?.address, three?.address]);
    });
    await remove(spec);
  });

  test("counts more restarts than the swarm keeps containers of", async () => {
    const spec = await started({ replicas: 1 });
    for (let count = 1; count <= 7; count += 1) {
      await ask((await engine.inspect(spec))?.upstream?.host ?? null, "exit?code=4");
      await eventually(async () => {
        expect(await engine.inspect(spec)).toMatchObject({ state: "running", restartCount: count, exitCode: 4 });
      });
    }
    await remove(spec);
  });

  test("has a log of all containers, each line with its own", async () => {
    const spec = await started();
    for (const { address, number } of await containers(spec)) await ask(address, `log?text=from-${number}`);
    await eventually(async () => {
      const lines: string[] = [];
      for await (const { line, container } of engine.logs(spec, {})) lines.push(`${container} ${line}`);
      for (const number of [1, 2, 3]) expect(lines).toContain(`replica-${number} from-${number}`);
    });
    await remove(spec);
  });

  test("refuses what no node can run, and leaves nothing behind", async () => {
    const image = await world.image();
    const impossible = specOf(image, { limits: { memoryBytes: null, cpus: null }, storages: [], replicas: 2 });
    const storages: StorageMount[] = [
      { type: "volume", uuid: fixture.name("data"), name: "data", mountPath: "/app/data" },
    ];
    await expect(engine.start({ ...impossible, storages }, io())).rejects.toMatchObject({
      code: "deploy.start_failed",
      message: expect.stringContaining("The storage data is on one node of the cluster"),
    });
    expect(await engine.inspect(impossible)).toBeUndefined();
  });

  test("leaves nothing of an image with files whose making was interrupted", async () => {
    const { docker } = world.manager;
    const spec = specOf(await world.image());
    const killed = Object.create(docker, {
      createContainer: {
        value: async (options: object) => {
          const container = await docker.createContainer(options);
          // As after a kill of Berth, nothing follows.
          const never = { value: () => Promise.reject(new Error("killed")) };
          return Object.create(container, { commit: never, remove: never });
        },
      },
    });
    const release = { instance: fixture.instance, ref: spec, files: [], user: null };
    await expect(imageWithFiles(killed, (await world.image()).image, release)).rejects.toThrow("killed");
    const left = () =>
      docker.listContainers({ all: true, filters: { label: [`berth.deployment=${spec.deploymentUuid}`] } });
    expect(await left()).toHaveLength(1);
    await engine.remove(spec, { graceSeconds: 0 });
    expect(await left()).toEqual([]);
  });

  test("loads an image from the node that built it while the swarm counts that one as down", async () => {
    const { image } = await world.image("LABEL built=meanwhile");
    const [manager, ...adapters] = world.nodes;
    if (manager === undefined) throw new Error("A swarm has a manager.");
    await spreadImage({ adapters, others: [manager] }, image, io());
    for (const { images } of adapters) expect(await images.find(image)).toBeDefined();
    const missing = spreadImage({ adapters, others: [manager] }, `${image}-missing`, io());
    await expect(missing).rejects.toMatchObject({ code: "deploy.start_failed" });
  });

  test("replaces an unused network of the manager alone, and refuses one that is somebody else's", async () => {
    const { docker } = world.manager;
    const [own, foreign] = [fixture.name("own"), fixture.name("foreign")];
    await docker.createNetwork({ Name: own, Labels: ownedLabels(fixture.instance) });
    await docker.createNetwork({ Name: foreign });
    const spec = await started({ replicas: 1, network: own });
    expect(await docker.getNetwork(own).inspect()).toMatchObject({ Scope: "swarm" });
    await expect(started({ replicas: 1, network: foreign })).rejects.toMatchObject({
      message: expect.stringContaining(`The network ${foreign} of the manager is not a network of its Docker Swarm.`),
    });
    await remove(spec);
  });

  test("removes networks that hide one of the swarm on a node that was used alone, and leaves out one that uses it", async () => {
    const [, second, third] = world.nodes;
    if (second === undefined || third === undefined) throw new Error("The swarm has three nodes.");
    const network = fixture.name("hidden");
    for (const { docker } of [second, third]) {
      await docker.createNetwork({ Name: network, Labels: ownedLabels(fixture.instance) });
    }
    const Labels = { ...ownedLabels(fixture.instance), "berth.resource": "own" };
    const artifact = await world.image();
    await spreadImage({ adapters: world.nodes, others: [] }, artifact.image, io());
    const used = await third.docker.createContainer({
      Image: artifact.image,
      Labels,
      HostConfig: { NetworkMode: network },
    });
    await used.start();
    const lines: string[] = [];
    const spec = specOf(artifact, { replicas: 3, network });
    await engine.start(spec, { ...io(), onLine: (line) => lines.push(line) });
    expect(lines).toContainEqual(
      expect.stringContaining(`Leaves out ${third.name}, which has a network ${network} of its own in use.`),
    );
    expect(new Set(await nodesOf(spec))).toEqual(new Set(world.servers.slice(0, 2).map(({ nodeId }) => nodeId)));
    await used.remove({ force: true });
    const next = await started({ network });
    expect(new Set(await nodesOf(next)).size).toBe(3);
    await remove(next);
    await remove(spec);
  });

  test("moves what ran on a lost node, and prepares the node again when it is back", async () => {
    const spec = await started();
    const lost = world.servers[2];
    expect(await nodesOf(spec)).toContain(lost?.nodeId);
    await lost?.down();
    await eventually(async () => {
      const now = await containers(spec);
      expect(now.map(({ state }) => state)).toEqual(["running", "running", "running"]);
      const nodes = await clusterNodes(world.manager.docker);
      expect(nodes.find(({ id }) => id === lost?.nodeId)).toMatchObject({ isReady: false, labels: {} });
      for (const { address } of now) await world.ask(engine, { host: address ?? "", port: 3000 }, "/pid");
    });
    const next = await started({ replicas: 1 });
    await lost?.up();
    await eventually(async () => {
      const nodes = await clusterNodes(world.manager.docker);
      const back = nodes.find(({ id }) => id === lost?.nodeId);
      expect(Object.keys(back?.labels ?? {})).toContainEqual(expect.stringContaining("berth.ready."));
    });
    const image = (await world.manager.images.find((await world.image()).image))?.id ?? "";
    expect(await world.nodes[2]?.images.find(image)).toBeDefined();
    await remove(next);
    await remove(spec);
  });

  test("takes no container for one of the release that no manager gave its node", async () => {
    const spec = await started({ replicas: 1 });
    const [nodeId] = await nodesOf(spec);
    const own = world.servers.find((one) => one.nodeId === nodeId);
    const other = world.servers.find((one) => one.nodeId !== nodeId);
    const [real] =
      (await own?.client.listContainers({ filters: { label: [`berth.deployment=${spec.deploymentUuid}`] } })) ?? [];
    const claimed = await other?.client.createContainer({ Image: real?.ImageID ?? "", Labels: real?.Labels ?? {} });
    await claimed?.start();
    const before = await engine.inspect(spec);
    await eventually(async () => expect((await claimed?.inspect())?.State.Running).toBe(true));
    expect((await engine.inspect(spec))?.upstream).toEqual(before?.upstream);
    expect(
      (await engine.list()).find(({ deploymentUuid }) => deploymentUuid === spec.deploymentUuid)?.upstream,
    ).toEqual(before?.upstream);
    const { output } = await engine.exec(spec, "hostname", { timeoutSeconds: 20 });
    expect(claimed?.id.startsWith(output.trim())).toBe(false);
    await claimed?.remove({ force: true });
    await remove(spec);
  });

  /** A release with a storage, and the node that has its data. */
  const withStorage = async () => {
    const uuid = fixture.name("kept");
    const storages: StorageMount[] = [{ type: "volume", uuid, name: "data", mountPath: "/app/data" }];
    const spec = await started({ replicas: 1, storages });
    const [nodeId] = await nodesOf(spec);
    return { spec, server: world.servers.find((one) => one.nodeId === nodeId) };
  };

  test("keeps the data of a storage on its node, and starts nothing empty elsewhere", async () => {
    // Each node gets one of them, and the manager is never taken down: without it there is no swarm.
    const all = [await withStorage(), await withStorage(), await withStorage()];
    expect(new Set(all.map(({ server }) => server)).size).toBe(3);
    const { spec, server } = all.find((one) => one.server !== world.servers[0]) ?? {};
    if (spec === undefined) throw new Error("No storage is on a worker.");
    await ask((await engine.inspect(spec))?.upstream?.host ?? null, "append?file=data/file&text=kept");
    const scaled = engine.containers.scale(spec, 2, { graceSeconds: 0, files: [] });
    await expect(scaled).rejects.toThrow(/^Its storage is on one node of the cluster, so the application can have one/);
    expect(await nodesOf(spec)).toHaveLength(1);
    // An image that only one node can run is loaded there alone.
    const { image } = await world.image("LABEL pinned=yes");
    const again = specOf(
      { ...(await world.image()), image },
      { storages: spec.storages, resourceUuid: spec.resourceUuid },
    );
    await engine.start(again, io());
    const having = await Promise.all(world.nodes.map(async ({ id, images }) => ((await images.find(image)) ? id : [])));
    expect(having.flat()).toEqual([world.manager.id, server?.nodeId]);
    await remove(again);
    await server?.down();
    await eventually(async () => {
      const nodes = await clusterNodes(world.manager.docker);
      expect(nodes.find(({ id }) => id === server?.nodeId)?.isReady).toBe(false);
    });
    const next = specOf(await world.image(), { storages: spec.storages, resourceUuid: spec.resourceUuid });
    const problem = `Its data is on node ${server?.name}, which is down. Start the node again, or restore a backup.`;
    await expect(engine.start(next, io())).rejects.toMatchObject({ message: problem });
    await eventually(async () => {
      expect(await engine.inspect(spec)).toMatchObject({ problem });
      expect((await engine.list()).find(isOf(spec))).toMatchObject({ problem });
    });
    // A stop waits for no node: what is stopped does not start with it.
    await engine.stop(spec, { graceSeconds: 1 });
    expect(await engine.inspect(spec)).toMatchObject({ state: "exited" });
    expect(await engine.inspect(spec)).not.toHaveProperty("problem");
    await engine.resume(spec);
    await eventually(async () => expect(await engine.inspect(spec)).toMatchObject({ problem }));
    await server?.up();
    await eventually(async () => expect(await engine.inspect(spec)).toMatchObject({ state: "running" }));
    expect(await engine.inspect(spec)).not.toHaveProperty("problem");
    expect(await ask((await engine.inspect(spec))?.upstream?.host ?? null, "read?file=data/file")).toBe("kept");
    for (const one of all) await remove(one.spec);
  });

  test("says that the data of a storage is on a node that takes no containers, until it takes some again", async () => {
    const { spec, server } = await withStorage();
    const available = (Availability: "active" | "drain") =>
      updateNode(world.manager.docker, server?.nodeId ?? "", (node) => ({ ...node, Availability }));
    const drained = new RegExp(`^Its data is on node ${server?.name}, which is drained or paused\\..* activate `);
    await available("drain");
    await eventually(async () => expect((await engine.inspect(spec))?.state).not.toBe("running"));
    await expect(
      engine.start(specOf(await world.image(), { storages: spec.storages, resourceUuid: spec.resourceUuid }), io()),
    ).rejects.toThrow(drained);
    await eventually(() => expect(engine.exec(spec, "true", { timeoutSeconds: 5 })).rejects.toThrow(drained));
    await available("active");
    await eventually(async () => expect(await engine.inspect(spec)).toMatchObject({ state: "running" }));
    await remove(spec);
  });
});

const isOf =
  ({ deploymentUuid }: ReleaseSpec) =>
  (one: { readonly deploymentUuid: string }) =>
    one.deploymentUuid === deploymentUuid;

const NODE = "com.docker.swarm.node.id";
