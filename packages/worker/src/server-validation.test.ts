import type { ServerRecord, SwarmNode } from "@berth/core/ports";
import { testApplication, testCluster, testPlace, testPrivateKey, testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "./each-world.fixture.ts";
import { fakeMachine, INSPECTION } from "./fake-machine.fixture.ts";
import type { World } from "./world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

/** A Docker server, with an application if asked. */
async function added({ hasResources = false } = {}): Promise<ServerRecord> {
  const { server: first, ...place } = await testPlace(world.stores);
  const { id: private_key_id } = await testPrivateKey(world.stores);
  const address = { ip: `${testUuid()}.example`, private_key_id };
  const fields = { ...first, ...address, uuid: testUuid(), engine: "docker" } as const;
  const server = await world.stores.servers.insert(fields);
  const destination = { uuid: testUuid(), server_id: server.id, name: "berth", network: "berth" };
  const made = { ...place, server, destination: await world.stores.destinations.insert(destination) };
  if (hasResources) await testApplication(world.stores, made);
  return server;
}

/** Validates a server whose engine reports this node. */
async function validated(server: ServerRecord, swarm: SwarmNode | null) {
  world.machine = fakeMachine({ inspection: { swarm } });
  const subject = { ...server, type: "server" } as const;
  const [job] = await world.stores.jobs.request([{ uuid: testUuid(), type: "server.validate", subject }]);
  const ended = async () => (await world.stores.jobs.find(job?.uuid ?? ""))?.finished_at ?? undefined;
  await until(ended, { what: "the validation ends" });
  const found = await world.stores.servers.findById(server.id);
  if (found === undefined) throw new Error("The server is gone.");
  const { engine, validation_logs: log, swarm_cluster, settings } = found;
  return { engine, log, swarm_cluster, is_usable: settings.is_usable };
}

const manager = (): SwarmNode => {
  const nodeId = testUuid();
  const managers = [{ nodeId, address: "10.0.0.1" }];
  return { nodeId, isManager: true, clusterId: testUuid(), managers, managerCount: 3 };
};
const workerOf = ({ managers }: SwarmNode): SwarmNode => ({
  ...{ nodeId: testUuid(), isManager: false, clusterId: null, managerCount: 0 },
  managers,
});

describe("a validation where clusters are not driven", () => {
  test("records a manager and a worker node, and changes nothing else", async () => {
    world.worker();
    const [one, two] = [await added(), await added()];
    const node = { ...manager(), managerCount: 1 };
    const single = { engine: "docker", log: null, swarm_cluster: one.id, is_usable: true };
    expect(await validated(two, workerOf(node))).toEqual({ ...single, swarm_cluster: null });
    expect(await validated(one, node)).toEqual(single);
    expect((await world.stores.servers.findById(two.id))?.swarm_cluster).toBe(one.id);
    expect(await validated(one, null)).toEqual({ ...single, swarm_cluster: null });
  });

  test("says that a server with the engine of a cluster is not supported", async () => {
    world.worker();
    const { id: _, ...fields } = await added();
    const server = await world.stores.servers.insert({
      ...{ ...fields, uuid: testUuid(), engine: "swarm", ip: `${testUuid()}.example` },
    });
    const found = await validated(server, manager());
    expect(found).toMatchObject({ engine: "swarm", is_usable: false, log: expect.stringContaining("not support") });
  });
});

describe("a validation where clusters are driven", () => {
  test("gives an empty manager the engine of its cluster, until it is none any more", async () => {
    world.worker({ drivesClusters: true });
    const server = await added();
    const node = manager();
    const driving = { engine: "swarm", log: null, swarm_cluster: server.id, is_usable: true };
    expect(await validated(server, node)).toEqual(driving);
    expect(await validated(server, { ...node, managerCount: 1 })).toMatchObject({
      ...{ engine: "swarm", is_usable: true, log: expect.stringContaining("tolerates the loss of none") },
    });
    expect(await validated(server, { ...node, clusterId: null, managerCount: 0 })).toMatchObject({
      ...{ engine: "swarm", is_usable: false, log: expect.stringContaining("no leader"), swarm_cluster: server.id },
    });
    expect(await validated(server, null)).toMatchObject({ engine: "docker", log: null, is_usable: true });
  });

  test("leaves a manager with resources a single server, and says how to move", async () => {
    world.worker({ drivesClusters: true });
    const server = await added({ hasResources: true });
    expect(await validated(server, manager())).toMatchObject({
      ...{
        engine: "docker",
        is_usable: true,
        log: expect.stringContaining("remove its resources and validate it again"),
      },
    });
  });

  test.each([
    ["is lost", { state: "down" }, true],
    ["answers", { state: "ready" }, false],
    ["has the data of a storage", { state: "down", storages: ["a"] }, false],
  ])("finds that a server has left, whose node %s, and removes it: %o, %s", async (_what, now, isRemoved) => {
    world.worker({ drivesClusters: true });
    const [first, second] = [await added(), await added()];
    const head = manager();
    const node = workerOf(head);
    await validated(first, head);
    expect(await validated(second, node)).toMatchObject({ swarm_cluster: first.id });
    const operations = testCluster(first.uuid);
    const [seen] = await operations.nodes();
    if (seen === undefined) throw new Error("The cluster has a node.");
    const removed: string[] = [];
    world.engine.cluster = {
      ...operations,
      nodes: async () => [
        { ...seen, id: head.nodeId },
        { ...seen, isManager: false, id: node.nodeId, ...now },
      ],
      remove: async (id) => void removed.push(id),
    };
    expect(await validated(second, null)).toMatchObject({ swarm_cluster: null, is_usable: true });
    expect(removed).toEqual(isRemoved ? [node.nodeId] : []);
  });

  test("refuses a server that says it is the node that another one is", async () => {
    world.worker({ drivesClusters: true });
    const [head, honest, lying] = [await added(), await added(), await added()];
    const node = manager();
    await validated(head, node);
    const claimed = workerOf(node);
    await validated(honest, claimed);
    expect(await validated(lying, claimed)).toMatchObject({
      ...{ is_usable: false, swarm_cluster: null },
      log: expect.stringContaining(`and ${honest.name} report the same node of a Docker Swarm`),
    });
    expect(await validated(honest, claimed)).toMatchObject({ swarm_cluster: head.id, is_usable: true });
  });

  test("refuses a server whose resources are in a cluster that it left", async () => {
    world.worker({ drivesClusters: true });
    const server = await added();
    const node = manager();
    await validated(server, node);
    const [destination] = (await world.stores.destinations.list({ server_id: server.id })).items;
    if (destination === undefined) throw new Error("The server has no destination.");
    await testApplication(world.stores, { ...(await testPlace(world.stores)), server, destination });
    expect(await validated(server, null)).toMatchObject({
      ...{ engine: "swarm", is_usable: false, log: expect.stringContaining("Make it a manager again") },
    });
    expect(await validated(server, node)).toMatchObject({ engine: "swarm", is_usable: true });
  });

  test("asks for a manager of the cluster of a worker node until there is one", async () => {
    world.worker({ drivesClusters: true });
    const [one, two] = [await added(), await added()];
    const node = manager();
    const alone = await validated(two, workerOf(node));
    expect([alone.engine, alone.log]).toEqual(["docker", expect.stringContaining("such as the one at 10.0.0.1")]);
    await validated(one, node);
    expect(await validated(two, workerOf(node))).toEqual({
      ...{ engine: "docker", log: null, swarm_cluster: one.id, is_usable: true },
    });
  });
});

test("records each step as soon as its result is known", async () => {
  // The test decides when the server has answered.
  world.worker({ settings: { validationSeconds: 60 } });
  const server = await added();
  const answered = Promise.withResolvers<void>();
  world.machine = fakeMachine({
    async inspect(onProgress) {
      onProgress?.({ facts: null, osType: null });
      onProgress?.(INSPECTION);
      await answered.promise;
      return INSPECTION;
    },
  });
  const subject = { ...server, type: "server" } as const;
  const [asked] = await world.stores.jobs.request([{ uuid: testUuid(), type: "server.validate", subject }]);
  const job = () => world.stores.jobs.find(asked?.uuid ?? "");
  const names = async () => (await job())?.steps?.map(({ name, result }) => `${name} ${result}`) ?? [];
  await until(async () => ((await names()).length === 4 ? true : undefined), {
    what: "the engine's steps are recorded",
  });
  expect((await job())?.status).toBe("in_progress");
  answered.resolve();
  await until(async () => (await job())?.finished_at ?? undefined, { what: "the validation ends" });
  expect(await names()).toEqual(
    ["Machine", "Engine", "Version", "System", "Disk", "Architecture", "Memory"].map((name) => `${name} passed`),
  );
  expect((await world.stores.events.list({})).filter(({ type }) => type === "job.progressed")).toHaveLength(2);
});
