import type { ReleaseSpec } from "@berth/core/deploy";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";
import type { DockerEngine } from "./engine.ts";

const GRACE = { graceSeconds: 2, files: [] };

describeDocker("a release with several containers of one image", IMAGES, (fixture) => {
  let world: DockerWorld;
  let engine: DockerEngine;
  beforeAll(async () => {
    world = dockerWorld(fixture);
    engine = await world.engine();
  });
  afterAll(() => world.close());

  const started = async (change: Partial<ReleaseSpec> = {}) => {
    const spec = specOf(await world.image(), { replicas: 3, ...change });
    await engine.start(spec, io());
    return spec;
  };
  const containers = async (spec: ReleaseSpec) => (await engine.inspect(spec))?.containers ?? [];
  const numbers = async (spec: ReleaseSpec) => (await containers(spec)).map(({ number }) => number);
  const scale = (spec: ReleaseSpec, replicas: number) => {
    const files = spec.storages.filter((mount) => mount.type === "file");
    return engine.containers.scale(spec, replicas, { ...GRACE, files });
  };
  const ask = (address: string | null, path: string) =>
    eventually(async () => (await fetch(`http://${address}:3000/${path}`)).text());
  const idsOf = async (spec: ReleaseSpec) => (await world.containersOf(spec)).map(({ Id }) => Id).sort();

  test("runs them beside each other, each with its address, and starts nothing twice", async () => {
    const spec = await started();
    const all = await containers(spec);
    expect(all.map(({ name, number, state }) => [name, number, state])).toEqual([
      ["replica", 1, "running"],
      ["replica", 2, "running"],
      ["replica", 3, "running"],
    ]);
    expect(new Set(all.map(({ address }) => address)).size).toBe(3);
    for (const { address } of all) expect(Number(await ask(address, "pid"))).toBeGreaterThan(0);
    const ids = await idsOf(spec);
    await engine.start(spec, io());
    expect(await idsOf(spec)).toEqual(ids);
    expect((await engine.list()).filter(({ deploymentUuid }) => deploymentUuid === spec.deploymentUuid)).toEqual([
      await engine.inspect(spec),
    ]);
    await engine.remove(spec, { graceSeconds: 0 });
    expect(await world.containersOf(spec)).toEqual([]);
  });

  test("grows by copies of what runs, with its files, and shrinks from the end", async () => {
    const spec = await started({
      replicas: 1,
      env: { MARK: "first", "odd name": "x" },
      storages: [
        { type: "file", uuid: fixture.name("file"), name: "conf", mountPath: "/etc/app/my.conf", content: "kept" },
      ],
    });
    const [first] = await idsOf(spec);
    expect((await engine.inspect(spec))?.containers).toBeUndefined();
    expect((await scale(spec, 3))?.containers).toHaveLength(3);
    expect(await numbers(spec)).toEqual([1, 2, 3]);
    expect(await idsOf(spec)).toContain(first);
    for (const { address } of await containers(spec)) {
      expect(JSON.parse(await ask(address, "env?name=MARK"))).toBe("first");
    }
    for (const container of ["replica-1", "replica-3"]) {
      const read = { timeoutSeconds: 20, container };
      expect((await engine.exec(spec, "cat /etc/app/my.conf", read)).output).toBe("kept");
    }
    await scale(spec, 2);
    expect(await numbers(spec)).toEqual([1, 2]);
    await scale(spec, 1);
    expect((await engine.inspect(spec))?.containers).toBeUndefined();
    expect(await idsOf(spec)).toEqual([first]);
  });

  test("gets back what somebody removed, under the free number", async () => {
    const spec = await started();
    const [second] = (await world.containersOf(spec)).filter(({ Names }) => Names[0]?.startsWith("/2-"));
    await world.docker.getContainer(second?.Id ?? "").remove({ force: true });
    await eventually(async () => expect(await numbers(spec)).toEqual([1, 3]));
    await scale(spec, 3);
    expect(await numbers(spec)).toEqual([1, 2, 3]);
  });

  test("finishes what a broken attempt has begun", async () => {
    const spec = await started({ replicas: 1 });
    const [{ Id = "" } = {}] = await world.containersOf(spec);
    const { Config, HostConfig } = await world.docker.getContainer(Id).inspect();
    const labels = { ...Config.Labels, "berth.container": "replica", "berth.order": "2" };
    const name = `2-${spec.resourceUuid}-${spec.deploymentUuid}`;
    await world.docker.createContainer({ name, Image: Config.Image, HostConfig, Labels: labels });
    await eventually(async () => expect(await numbers(spec)).toEqual([1, 2]));
    await scale(spec, 2);
    expect((await containers(spec)).map(({ state }) => state)).toEqual(["running", "running"]);
  });

  test("survives the loss of its first container", async () => {
    const spec = await started({ replicas: 2 });
    const [first] = (await world.containersOf(spec)).filter(({ Names }) => !Names[0]?.startsWith("/2-"));
    await world.docker.getContainer(first?.Id ?? "").remove({ force: true });
    await eventually(async () => expect(await numbers(spec)).toEqual([2]));
    await scale(spec, 2);
    expect(await numbers(spec)).toEqual([1, 2]);
  });

  test("stops and resumes as a whole, and another engine object finds all of it", async () => {
    const spec = await started();
    const ids = await idsOf(spec);
    await engine.stop(spec, GRACE);
    expect((await containers(spec)).map(({ state }) => state)).toEqual(["exited", "exited", "exited"]);
    const other = await world.engine();
    expect((await other.resume(spec))?.containers).toHaveLength(3);
    expect(await idsOf(spec)).toEqual(ids);
    expect((await other.usage(spec))?.processes).toBeGreaterThanOrEqual(3);
  });

  test("is restarted container by container, and reports each", async () => {
    const spec = await started({ replicas: 2 });
    const [, second] = await containers(spec);
    await ask(second?.address ?? "", "exit?code=3").catch(() => undefined);
    await eventually(async () => expect((await containers(spec)).map((one) => one.restartCount)).toEqual([0, 1]));
    await eventually(async () => expect((await engine.inspect(spec))?.state).toBe("running"));
  });
});
