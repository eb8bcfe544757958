import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeDocker, eventually, SERVER_IMAGE } from "@berth/testing";
import type { ContainerTaskSpec } from "dockerode";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stackSpec } from "../docker/compose/stack.fixture.ts";
import { composeTool } from "../docker/compose/tool.ts";
import { io, NO_BUILDER } from "../docker/docker.fixture.ts";
import { dockerEngine } from "../docker/engine.ts";
import { OVERLAY } from "../docker/networks.ts";
import type { SwarmEngine } from "./engine.ts";
import { clusterNodes } from "./nodes.ts";
import { type SwarmWorld, swarmWorld } from "./swarm.fixture.ts";
import { withStacks } from "./with-stacks.ts";

const TEXT = `
services:
  web:
    image: busybox:stable
    command: ["sh", "-c", "echo web $$GREETING; wget -qO- http://db:8000/ready && exec httpd -f -p 8080 -h /www"]
    environment: { GREETING: "\${GREETING:-none}" }
    stop_grace_period: 1s
    init: true
    volumes: [{ type: bind, source: ./page, target: /www/index.html, content: "hello" }]
    depends_on: { db: { condition: service_healthy }, job: { condition: service_completed_successfully } }
    deploy: { resources: { limits: { memory: 64M, cpus: "0.5" }, reservations: { memory: 8M } } }
  worker:
    image: busybox:stable
    init: true
    stop_grace_period: 1s
    command: ["sh", "-c", "cat /run/secrets/key; echo; exec sleep 1000"]
    secrets: [key]
    deploy: { replicas: 2 }
  db:
    image: busybox:stable
    init: true
    stop_grace_period: 1s
    command: ["sh", "-c", "mkdir -p /srv; cp /data/job /srv/ready; exec httpd -f -p 8000 -h /srv"]
    volumes: ["data:/data"]
    depends_on: { job: { condition: service_completed_successfully } }
    healthcheck: { test: ["CMD", "wget", "-qO", "/dev/null", "http://127.0.0.1:8000/ready"], interval: 10m }
  job: { image: busybox:stable, restart: "no", command: ["sh", "-c", "echo done >>/data/job"], volumes: ["data:/data"] }
volumes: { data: }
secrets: { key: { environment: KEY } }
`;

describeDocker("a release of a compose file on a swarm", [SERVER_IMAGE, "busybox:stable"], (fixture) => {
  let world: SwarmWorld;
  let engine: SwarmEngine;
  let folder: string;
  beforeAll(async () => {
    world = await swarmWorld(fixture, { nodes: 2 });
    await world.servers[0]?.loadImages("busybox:stable");
    folder = mkdtempSync(join(tmpdir(), "berth-stacks-"));
    engine = world.engine({ compose: composeTool({ host: world.manager.host, folder }) });
  });
  afterAll(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const containers = { web: { ports: [8080], networkAliases: ["web-alias"] } };
  const stack = { variables: { GREETING: "{{.Node.ID}} hi", KEY: "secret-value" }, networks: ["berth"] };
  const printed = async (spec: ReturnType<typeof stackSpec>, container: string, script: string) =>
    (await engine.exec(spec, script, { timeoutSeconds: 20, container })).output.trim();
  const statesOf = async (spec: ReturnType<typeof stackSpec>) =>
    (await engine.inspect(spec))?.containers?.map(({ name, number, state }) => [name, number, state]);
  const linesOf = async (spec: ReturnType<typeof stackSpec>, container?: string) => {
    const lines: string[] = [];
    for await (const { line } of engine.logs(spec, container === undefined ? {} : { container })) lines.push(line);
    return lines;
  };
  const pageOf = (spec: ReturnType<typeof stackSpec>) =>
    eventually(async () => {
      const upstream = (await engine.inspect(spec))?.upstream;
      const answer = await world.ask(engine, { host: upstream?.host ?? "", port: upstream?.port ?? 0 }, "/");
      expect(answer.status).toBe(200);
      return answer.body;
    });
  const ALL_RUN = [
    ["web", undefined, "running"],
    ["worker", 1, "running"],
    ["worker", 2, "running"],
    ["db", undefined, "running"],
    ["job", undefined, "exited"],
  ];
  const leftovers = async (resourceUuid: string) => {
    const label = [`berth.resource=${resourceUuid}`];
    const filters = { label };
    const found = await Promise.all(
      world.nodes.map(async ({ docker }) => [
        ...(await docker.listContainers({ all: true, filters })).map(({ Names }) => Names.join()),
        ...(await docker.listNetworks({ filters })).map(({ Name }) => Name),
        ...((await docker.listVolumes({ filters })).Volumes ?? []).map(({ Name }) => Name),
      ]),
    );
    const services = await world.manager.docker.listServices({ filters });
    return [...found.flat(), ...services.map(({ Spec }) => Spec?.Name)];
  };

  /** Containers that may run on the node with their data alone. */
  const pinnedOf = async ({ deploymentUuid }: ReturnType<typeof stackSpec>) => {
    const filters = { label: [`berth.deployment=${deploymentUuid}`] };
    const services = await world.manager.docker.listServices({ filters });
    const isPinned = ({ Spec }: (typeof services)[number]) => {
      const { Placement } = (Spec?.TaskTemplate ?? {}) as ContainerTaskSpec; // Berth's services run containers.
      return Placement?.Constraints?.some((one) => one.startsWith("node.labels.berth.storage.")) === true;
    };
    return services
      .filter(isPinned)
      .map(({ Spec }) => Spec?.Labels?.["berth.container"])
      .sort();
  };

  /** A node frees a network a moment after its managers have removed it. */
  const untilLeft = ({ resourceUuid }: ReturnType<typeof stackSpec>, wanted: readonly unknown[]) =>
    eventually(async () => expect(await leftovers(resourceUuid)).toEqual(wanted));

  test("starts in the order that it asks for, keeps its data through the next, and goes without a trace", async () => {
    const spec = stackSpec(TEXT, { containers, stack });
    const state = await engine.start(spec, io());
    expect(state).toMatchObject({ state: "running", upstream: { port: 8080 } });
    expect(await statesOf(spec)).toEqual(ALL_RUN);
    expect(state.containers?.map(({ isExcluded }) => isExcluded)).toEqual([false, false, false, false, true]);
    expect(await pageOf(spec)).toBe("hello");
    expect(await printed(spec, "web", 'printf %s "$GREETING"; wget -qO- http://web-alias:8080')).toBe(
      "{{.Node.ID}} hihello",
    );
    expect((await linesOf(spec)).join("\n")).toContain("done");
    expect(await linesOf(spec, "worker-1")).toEqual(["secret-value"]);
    expect(await engine.containers.ownCheck(spec, AbortSignal.timeout(10_000), "db")).toMatchObject({ exitCode: 0 });
    expect((await engine.usage(spec))?.processes).toBeGreaterThanOrEqual(4);
    const again = await engine.start(spec, io());
    expect(again.containers?.map(({ startedAt }) => startedAt)).toEqual(
      state.containers?.map(({ startedAt }) => startedAt),
    );
    expect((await engine.list()).filter((one) => one.deploymentUuid === spec.deploymentUuid)).toHaveLength(1);
    const nodes = new Set(
      (await world.containersOf(spec))
        .filter(({ Labels }) => ["db", "job"].includes(Labels["berth.container"] ?? ""))
        .map(({ Labels }) => Labels["com.docker.swarm.node.id"]),
    );
    expect(nodes.size).toBe(1);
    expect(await pinnedOf(spec)).toEqual(["db", "job"]);

    await engine.stop(spec, { graceSeconds: 1 });
    expect(await engine.inspect(spec)).toMatchObject({ state: "exited" });
    expect(await engine.resume(spec)).toMatchObject({ containers: expect.any(Array) });
    await eventually(async () => expect(await statesOf(spec)).toEqual(ALL_RUN));

    const replaces = { deploymentUuid: spec.deploymentUuid, keeps: "unchanged", isRestart: false } as const;
    const next = stackSpec(TEXT, {
      ...{ containers, resourceUuid: spec.resourceUuid },
      stack: { ...stack, replaces },
    });
    await engine.start(next, io());
    expect(await statesOf(spec)).toContainEqual(["db", undefined, "exited"]);
    expect(await statesOf(spec)).toContainEqual(["worker", 1, "running"]);
    expect((await printed(next, "db", "cat /data/job")).split("\n").length).toBeGreaterThanOrEqual(2);
    await engine.remove(spec, { graceSeconds: 0 });
    expect(await pageOf(next)).toBe("hello");
    await engine.remove(next, { graceSeconds: 0 });
    await untilLeft(spec, [expect.stringMatching(/^berth-resource-.*_data$/)]);
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
    await untilLeft(spec, []);
    const labels = (await clusterNodes(world.manager.docker)).flatMap((node) => Object.keys(node.labels));
    expect(labels.filter((label) => label.includes(spec.resourceUuid))).toEqual([]);
  });

  test("refuses what a cluster cannot run before it makes anything", async () => {
    const text = TEXT.replace("stop_grace_period: 1s", "privileged: true");
    const spec = stackSpec(text, { containers, stack });
    const refusal = {
      code: "deploy.start_failed",
      message: expect.stringMatching(/^The compose file cannot run on a cluster: services\.web\.privileged: /),
    };
    await expect(engine.start(spec, io())).rejects.toMatchObject(refusal);
    expect(() => engine.containers.requireFit?.(spec)).toThrow(expect.objectContaining(refusal));
    expect(() => engine.containers.requireFit?.(stackSpec(TEXT, { containers, stack }))).not.toThrow();
    expect(await leftovers(spec.resourceUuid)).toEqual([]);
  });

  test("takes over from a release that ran as containers of the manager alone, with its data", async () => {
    const { host, docker, images } = world.manager;
    const compose = composeTool({ host, folder });
    const common = { host, docker, instance: fixture.instance, builder: NO_BUILDER, images, compose };
    const earlier = dockerEngine({ ...common, network: "berth", networkOptions: OVERLAY });
    const managing = { substitute: async () => undefined, hasSubstitute: () => false, headName: () => host.name };
    const both = withStacks(engine, earlier, { managing, instance: fixture.instance });
    const keeper = { image: "busybox:stable", init: true, command: ["sleep", "1000"], volumes: ["data:/data"] };
    const text = JSON.stringify({ services: { keeper }, volumes: { data: null } });
    const spec = stackSpec(text, { stack: { networks: [] } });
    await earlier.start(spec, io());
    await earlier.exec(spec, "echo kept >/data/file", { timeoutSeconds: 20 });

    const unfit = JSON.stringify({ services: { keeper: { ...keeper, privileged: true } }, volumes: { data: null } });
    const replaces = { deploymentUuid: spec.deploymentUuid, keeps: "unchanged", isRestart: false } as const;
    const change = { resourceUuid: spec.resourceUuid, stack: { networks: [], replaces } };
    await expect(both.start(stackSpec(unfit, change), io())).rejects.toThrow("services.keeper.privileged");
    expect(await both.inspect(spec)).toMatchObject({ state: "running" });

    const next = stackSpec(text, change);
    expect(await both.start(next, io())).toMatchObject({ state: "running" });
    expect(await both.inspect(spec)).toMatchObject({ state: "exited" });
    expect((await both.exec(next, "cat /data/file", { timeoutSeconds: 20 })).output.trim()).toBe("kept");
    const where = (await world.containersOf(next)).map(({ Labels }) => Labels["com.docker.swarm.node.id"]);
    expect(where).toEqual([world.manager.id]);
    await both.remove(spec, { graceSeconds: 0 });
    expect((await both.list()).map(({ deploymentUuid }) => deploymentUuid)).toEqual([next.deploymentUuid]);
    await both.removeResource(spec.resourceUuid, { deleteVolumes: true });
    await untilLeft(spec, []);
    await earlier.close({ stopReleases: false });
  });

  test("keeps the previous release when one that others wait for fails", async () => {
    const spec = stackSpec(TEXT, { containers, stack });
    await engine.start(spec, io());
    const replaces = { deploymentUuid: spec.deploymentUuid, keeps: "unchanged", isRestart: false } as const;
    const failing = stackSpec(TEXT.replace("echo done >>/data/job", "echo oh no; exit 3"), {
      ...{ containers, resourceUuid: spec.resourceUuid },
      stack: { ...stack, replaces },
    });
    const lines: string[] = [];
    await expect(engine.start(failing, { ...io(), onLine: (line) => lines.push(line) })).rejects.toMatchObject({
      message: expect.stringContaining("job, which others wait for, exited with code 3"),
    });
    expect(lines).toContain("oh no");
    expect(await engine.inspect(failing)).toBeUndefined();
    const stopped = (await engine.inspect(spec))?.containers?.filter(({ isStopped }) => isStopped);
    expect(stopped?.map(({ name }) => name)).toEqual(["db"]);
    await engine.resume(spec);
    await eventually(async () => expect(await statesOf(spec)).toEqual(ALL_RUN));
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
    await untilLeft(spec, []);
  });

  test("makes what an interrupted start has left out, and leaves the others alone", async () => {
    const spec = stackSpec(TEXT, { containers, stack });
    const before = await engine.start(spec, io());
    await world.manager.docker.getService(`berth-${spec.deploymentUuid}-0`).remove();
    await eventually(async () => expect(await statesOf(spec)).toHaveLength(4));
    const after = await engine.start(spec, io());
    // It ends, and is started again, where the name of the database is not known on its node yet.
    await eventually(async () => expect(await statesOf(spec)).toEqual(ALL_RUN));
    const startOf = (state: typeof before) => state.containers?.slice(1).map(({ startedAt }) => startedAt);
    expect(startOf(after)).toEqual(startOf(before));
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
  });

  test("starts nothing empty elsewhere while the node with its data is down", async () => {
    const deploy = { placement: { constraints: ["node.role == worker"] } };
    const keeper = { image: "busybox:stable", init: true, command: ["sleep", "1000"], volumes: ["data:/data"], deploy };
    const spec = stackSpec(JSON.stringify({ services: { keeper }, volumes: { data: null } }), {
      stack: { networks: [] },
    });
    await engine.start(spec, io());
    await engine.exec(spec, "echo kept >/data/file", { timeoutSeconds: 20 });
    const worker = world.servers[1];
    await worker?.down();
    await eventually(async () => {
      const nodes = await clusterNodes(world.manager.docker);
      expect(nodes.find(({ id }) => id === worker?.nodeId)?.isReady).toBe(false);
    });
    const next = { ...spec, deploymentUuid: `${spec.deploymentUuid}-next` };
    await expect(engine.start(next, io())).rejects.toMatchObject({
      message: `Its data is on node ${worker?.name}, which is down. Start the node again, or restore a backup.`,
    });
    expect(await engine.inspect(next)).toBeUndefined();
    await worker?.up();
    await eventually(async () => expect(await printed(spec, "keeper", "cat /data/file")).toBe("kept"));
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
    await untilLeft(spec, []);
  });
});
