import type { ServerRecord, Stores, SwarmNode } from "@berth/core/ports";
import type { ValidationResult } from "@berth/core/server";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const WELL = { is_reachable: true, is_usable: true, validation_logs: null };
const managerOf = (clusterId: string, nodeId = testUuid(), managers = [nodeId]): SwarmNode => ({
  ...{ nodeId, clusterId, isManager: true, managerCount: managers.length },
  managers: managers.map((id) => ({ nodeId: id, address: "10.0.0.1" })),
});
const workerOf = (...managers: readonly SwarmNode[]): SwarmNode => ({
  ...{ nodeId: testUuid(), clusterId: null, isManager: false, managerCount: 0 },
  managers: managers.map(({ nodeId }) => ({ nodeId, address: "10.0.0.1" })),
});

onEachBackend((database) => {
  const { servers, jobs } = { servers: () => database().system.servers, jobs: () => database().system.jobs };

  async function docker(stores: Stores) {
    const { server } = await testPlace(stores);
    const { id: _, ...fields } = server;
    return await stores.servers.insert({ ...fields, uuid: testUuid(), engine: "docker", ip: `${testUuid()}.example` });
  }
  async function validated(stores: Stores, server: ServerRecord, found: Partial<ValidationResult>) {
    await stores.jobs.request([{ uuid: testUuid(), type: "server.validate", subject: { ...server, type: "server" } }]);
    const claimed = await jobs().claim(["server.validate"], [server.id], { owner: "w", leaseSeconds: 60 });
    if (claimed === undefined) throw new Error("Its validation was not claimed.");
    expect(await servers().finishValidation(claimed.lease, server.id, { ...WELL, ...found })).toBe(true);
    const after = await stores.servers.findById(server.id);
    if (after === undefined) throw new Error("The server is gone.");
    return after;
  }

  it("records the node of a server until it has left its cluster", async () => {
    const stores = await testTeam(database());
    const server = await docker(stores);
    expect([server.swarm_cluster_id, server.swarm_node_id, server.swarm_cluster]).toEqual([null, null, null]);
    const node = managerOf(testUuid());
    const manager = await validated(stores, server, { swarm: node });
    expect(manager).toMatchObject({
      ...{ engine: "docker", swarm_cluster_id: node.clusterId, swarm_node_id: node.nodeId, swarm_cluster: server.id },
      settings: { is_swarm_manager: true, is_swarm_worker: false, is_usable: true },
    });
    // What is unknown, since the machine does not answer or has no leader, stays as it was.
    const unknown = await validated(stores, server, { ...WELL, is_usable: false });
    expect(unknown).toMatchObject({ swarm_node_id: node.nodeId, settings: { is_swarm_manager: true } });
    const leaderless = await validated(stores, server, { swarm: { ...node, clusterId: null } });
    expect(leaderless.swarm_cluster_id).toBe(node.clusterId);
    // Another node is in another cluster.
    const other = await validated(stores, server, { swarm: { ...node, nodeId: testUuid(), clusterId: null } });
    expect(other.swarm_cluster_id).toBeNull();
    const left = await validated(stores, server, { swarm: null });
    expect([left.swarm_cluster_id, left.swarm_node_id, left.swarm_cluster]).toEqual([null, null, null]);
    expect(left.settings).toMatchObject({ is_swarm_manager: false, is_swarm_worker: false });
  });

  it("names one manager of the same team for all nodes of a cluster: the one that drives it, or else the first", async () => {
    const [stores, others] = [await testTeam(database()), await testTeam(database())];
    const [one, two, three] = [await docker(stores), await docker(stores), await docker(stores)];
    const foreign = await docker(others);
    const cluster = testUuid();
    const [first, second] = [managerOf(cluster), managerOf(cluster)];
    const worker = await validated(stores, three, { swarm: workerOf(second) });
    expect([worker.settings.is_swarm_worker, worker.swarm_cluster]).toEqual([true, null]);
    await validated(others, foreign, { swarm: second });
    const clusterOf = async ({ id }: ServerRecord) => (await stores.servers.findById(id))?.swarm_cluster;
    expect(await clusterOf(three)).toBeNull();
    await validated(stores, two, { swarm: second });
    expect(await clusterOf(three)).toBe(two.id);
    await validated(stores, one, { swarm: first });
    // The worker is connected to the second one alone.
    expect([await clusterOf(one), await clusterOf(two), await clusterOf(three)]).toEqual([one.id, one.id, two.id]);
    await validated(stores, three, { swarm: workerOf(first, second) });
    expect(await clusterOf(three)).toBe(one.id);
    await validated(stores, two, { swarm: second, engine: "swarm" });
    expect([await clusterOf(one), await clusterOf(two), await clusterOf(three)]).toEqual([two.id, two.id, two.id]);
    expect((await stores.servers.list()).items.find(({ id }) => id === three.id)?.swarm_cluster).toBe(two.id);
  });

  it("finds other managers of a cluster in all teams, and whether anything is recorded on a server", async () => {
    const [stores, others] = [await testTeam(database()), await testTeam(database())];
    const [one, foreign, alone] = [await docker(stores), await docker(others), await docker(stores)];
    const cluster = testUuid();
    const [own, theirs] = [managerOf(cluster), managerOf(cluster)];
    await validated(stores, one, { swarm: own });
    await validated(others, foreign, { swarm: theirs });
    await validated(stores, alone, { swarm: managerOf(testUuid()) });
    const { team_id, name, engine } = foreign;
    expect(await servers().clusterRecords(one.id, own)).toEqual({
      isInUse: false,
      managers: [{ team_id, name, engine }],
    });
    expect((await servers().clusterRecords(alone.id, workerOf(own, theirs))).managers).toHaveLength(2);
    expect((await servers().clusterRecords(alone.id, workerOf())).managers).toEqual([]);
    expect(await servers().clusterRecords(one.id, null)).toEqual({ isInUse: false, managers: [] });
    const place = await testPlace(stores);
    await testApplication(stores, place);
    expect(await servers().clusterRecords(place.server.id, null)).toEqual({ isInUse: true, managers: [] });
  });

  it("changes the engine of a server only while nothing is on it", async () => {
    const stores = await testTeam(database());
    const server = await docker(stores);
    const node = managerOf(testUuid());
    expect((await validated(stores, server, { swarm: node, engine: "swarm" })).engine).toBe("swarm");
    expect((await validated(stores, server, { swarm: node })).engine).toBe("swarm");
    expect((await validated(stores, server, { swarm: null, engine: "docker" })).engine).toBe("docker");
    const { destination, ...place } = await testPlace(stores);
    const fields = { uuid: testUuid(), server_id: server.id, name: "berth", network: "berth" };
    await testApplication(stores, { ...place, server, destination: await stores.destinations.insert(fields) });
    expect((await validated(stores, server, { swarm: node, engine: "swarm" })).engine).toBe("docker");
  });

  it("gives the cluster to exactly one of its managers that are validated at once", async () => {
    const stores = await testTeam(database());
    const managers = [await docker(stores), await docker(stores), await docker(stores)];
    const cluster = testUuid();
    const found = await Promise.all(
      managers.map((server) => validated(stores, server, { swarm: managerOf(cluster), engine: "swarm" })),
    );
    expect(found.map(({ engine }) => engine).toSorted()).toEqual(["docker", "docker", "swarm"]);
  });
});
