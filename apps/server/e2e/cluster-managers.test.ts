import { describeDocker, eventually, SERVER_IMAGE, type SwarmServer } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { outcomeOf, requestDeployment, visit } from "./applications.fixture.ts";
import { ON_ALL_NODES, type TestCluster, testCluster } from "./cluster.fixture.ts";
import { type PlacedResource, placedApplication } from "./placed-resource.fixture.ts";

const IMAGES = [SERVER_IMAGE, "busybox:stable", "caddy:2"];

describeDocker("a cluster of three managers", IMAGES, (docker) => {
  let cluster: TestCluster;
  let application: PlacedResource;
  beforeAll(async () => {
    cluster = await testCluster(docker, { managers: 3 });
    application = await placedApplication(cluster.seen, ON_ALL_NODES);
  });
  afterAll(() => cluster?.server.dispose());

  const node = (at: number): SwarmServer => {
    const found = cluster.nodes[at];
    if (found === undefined) throw new Error("The cluster has three nodes.");
    return found;
  };
  const read = async (path: string) => (await cluster.server.rest("GET", path)).body;
  const deployed = async (version: string) => {
    const { server } = cluster;
    await application.change(version);
    return await outcomeOf(server, await requestDeployment(server, application.uuid));
  };
  const nodes = () => cluster.server.rest("GET", `/servers/${cluster.uuids[0]}/nodes`);
  const scaled = (replicas: number) => cluster.server.rest("PATCH", `/applications/${application.uuid}`, { replicas });
  const shown = () => read(`/applications/${application.uuid}`);
  const runningOn = async (at: number) => (await node(at).client.listContainers(TASKS)).length;
  const liveServices = async () =>
    (await node(1).client.listServices()).filter(({ Spec }) => {
      const task = Spec?.TaskTemplate as { readonly Placement?: { readonly Constraints?: readonly string[] } };
      return task.Placement?.Constraints?.includes("node.id==stopped") !== true;
    });
  const onManager = async (...argv: readonly string[]) => {
    const { exitCode, output } = await cluster.manager.exec(argv);
    expect(exitCode, output).toBe(0);
  };

  test("is deployed to, scaled and visited while its server is lost, which then takes part again", async () => {
    const [second] = ((await nodes()).body as readonly ListedNode[]).filter(
      ({ server_name }) => server_name === "node-2",
    );
    const ingress = (is_ingress: boolean) =>
      cluster.server.rest("PATCH", `/servers/${cluster.uuids[0]}/nodes/${second?.id}`, { is_ingress });
    expect(await ingress(true)).toMatchObject({ status: 200 });
    const host = new URL(((await shown()) as { readonly fqdn: string }).fqdn).hostname;
    const visitSecond = () => visit({ host: node(1).address, port: 80 }, host);
    await eventually(async () => expect(await visitSecond()).toMatchObject({ status: 200, body: "0" }));

    await cluster.manager.cutNetwork();
    const outcome = await deployed("h");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await visitSecond()).toMatchObject({ status: 200, body: "h" });
    expect(await scaled(2)).toMatchObject({ status: 200 });
    await eventually(async () => expect((await runningOn(1)) + (await runningOn(2))).toBe(2));
    await eventually(async () => {
      expect((await nodes()).body).toContainEqual(expect.objectContaining({ server_name: "node-1", state: "down" }));
      expect(await shown()).toMatchObject({ server_status: true, status: "running:healthy", replicas: 2 });
    });
    const { logs } = (await read(`/applications/${application.uuid}/logs`)) as { readonly logs: string };
    expect(logs).toBeTypeOf("string");
    await eventually(async () => {
      const { events } = (await read("/events?type=server.unreachable")) as { readonly events: readonly object[] };
      const problem = expect.stringMatching(
        / Its cluster is managed through node-[23] meanwhile\. .* start it again\.$/,
      );
      expect(events).toContainEqual(expect.objectContaining({ payload: { server_name: "node-1", problem } }));
    });
    expect(await shown()).toMatchObject({ server_status: true });

    await cluster.manager.joinNetwork();
    await eventually(async () => expect(await application.visit()).toMatchObject({ status: 200, body: "h" }));
    await eventually(async () => {
      expect((await read(`/servers/${cluster.uuids[0]}`)) as object).toMatchObject({ is_reachable: true });
    });
    // The return of a manager makes the others choose a leader anew.
    await eventually(async () => expect(await ingress(false)).toMatchObject({ status: 200 }));
    expect(await scaled(3)).toMatchObject({ status: 200 });
    await eventually(async () => {
      const counts = await Promise.all([0, 1, 2].map(runningOn));
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3);
    });
    // The release before is kept, and stopped.
    await eventually(async () => expect((await liveServices()).length).toBe(1));
  });

  test("is deployed to and scaled while one of them is lost", async () => {
    await node(1).down();
    const outcome = await deployed("1");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await application.visit()).toMatchObject({ status: 200, body: "1" });
    expect(await scaled(4)).toMatchObject({ status: 200 });
    await eventually(async () => expect((await runningOn(0)) + (await runningOn(2))).toBe(4));
  });

  test("says what to do when a second one is lost, refuses changes, and keeps its containers", async () => {
    await node(2).down();
    const remedy = expect.stringMatching(
      /^The Docker Swarm of node-1 has.* no leader.* start them\. .*--force-new-clus/,
    );
    await eventually(async () => {
      expect(await nodes()).toMatchObject({ status: 503, body: { code: "cluster.no_leader", message: remedy } });
    });
    expect(await scaled(2)).toMatchObject({ status: 503, body: { code: "cluster.no_leader", message: remedy } });
    expect(await shown()).toMatchObject({ replicas: 4 });
    const outcome = await deployed("2");
    expect(outcome).toMatchObject({ status: "failed", error: remedy });
    expect(outcome.log.match(/Waits until it is back/g)).toHaveLength(1);
    expect(await application.visit()).toMatchObject({ status: 200, body: "1" });
    await eventually(async () => expect(await shown()).toMatchObject({ server_status: false }));
    const { events } = (await read("/events?type=server.unreachable")) as { readonly events: readonly object[] };
    // On a busy machine the check itself can end before the managers have said that they have no leader.
    const problem = expect.stringMatching(
      /^(The Docker Swarm of node-1 has had no leader since 20\S+ \S+ UTC\. |Server node-1 did not answer within 10 s\.$)/,
    );
    expect(events).toContainEqual(expect.objectContaining({ payload: { server_name: "node-1", problem } }));
  });

  test("is managed again by what the message says, and takes back a machine that returns", async () => {
    await onManager("docker", "swarm", "init", "--force-new-cluster", "--advertise-addr", cluster.manager.address);
    await cluster.server.rest("POST", `/servers/${cluster.uuids[0]}/validate`);
    await eventually(async () => expect(await shown()).toMatchObject({ server_status: true }));
    await onManager("docker", "node", "rm", "--force", node(2).nodeId);
    const outcome = await deployed("3");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await application.visit()).toMatchObject({ status: 200, body: "3" });

    await node(1).up();
    const returned = async (fields: object) =>
      await eventually(async () =>
        expect((await nodes()).body).toMatchObject([{ is_leader: true }, { server_name: "node-2", ...fields }]),
      );
    await returned({ state: "ready" });
    await eventually(async () => {
      expect(await deployed("4")).toMatchObject({ status: "finished" });
      expect(await runningOn(1)).toBeGreaterThan(0);
    });
    await returned({ role: "manager", is_reachable: true });
  });
});

interface ListedNode {
  readonly id: string;
  readonly server_name: string | null;
}

const TASKS = { filters: { label: ["berth.role=task"] } };
