import type { ReleaseSpec } from "@berth/core/deploy";
import type { LogLine, LogQuery } from "@berth/core/ports";
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

  test("has one log, in the order of its lines, which is followed over a scale-up and resumed without gap or repeat", async () => {
    const spec = await started({ replicas: 2 });
    const print = async (number: number, text: string) => {
      const address = (await containers(spec)).find((one) => one.number === number)?.address ?? null;
      await ask(address, `log?text=${text}`);
    };
    const printed = (line: LogLine) => line.line !== "listening";
    const tail = async (query: LogQuery) => {
      const lines: LogLine[] = [];
      for await (const line of engine.logs(spec, query)) lines.push(line);
      return lines;
    };
    for (let at = 0; at < 6; at += 1) {
      await print(1 + (at % 2), `a${at}`);
      // The engine gives a line its time when it reads it.
      await eventually(async () => expect((await tail({})).filter(printed)).toHaveLength(at + 1));
    }
    const lines = await tail({ lines: 4 });
    expect(lines.map(({ container, line }) => [container, line])).toEqual([
      ["replica-1", "a2"],
      ["replica-2", "a3"],
      ["replica-1", "a4"],
      ["replica-2", "a5"],
    ]);
    // A reader that got some of them continues with the others.
    expect((await tail({ after: lines[1]?.cursor ?? "" })).map(({ line }) => line)).toEqual(["a4", "a5"]);

    const seen: LogLine[] = [];
    const follow = (query: LogQuery) => {
      const stop = new AbortController();
      const done = (async () => {
        for await (const line of engine.logs(spec, { ...query, follow: true, signal: stop.signal })) seen.push(line);
      })();
      return async () => {
        stop.abort();
        await done;
      };
    };
    const arrived = (text: string) => eventually(() => expect(seen.map(({ line }) => line)).toContain(text));
    let end = follow({ lines: 2 });
    await arrived("a5");
    await print(1, "b1");
    await arrived("b1");
    await scale(spec, 3);
    await print(3, "b3");
    await arrived("b3");
    await end();
    await print(2, "c2");
    await scale(spec, 2);
    await print(1, "c1");
    end = follow({ after: seen.at(-1)?.cursor ?? "" });
    await Promise.all([arrived("c1"), arrived("c2")]);
    await print(2, "d2");
    await arrived("d2");
    await end();
    const texts = seen.filter(printed).map(({ container, line }) => `${container} ${line}`);
    expect(texts.slice(0, 4)).toEqual(["replica-1 a4", "replica-2 a5", "replica-1 b1", "replica-3 b3"]);
    expect(texts.slice(4).toSorted()).toEqual(["replica-1 c1", "replica-2 c2", "replica-2 d2"]);
    await engine.remove(spec, { graceSeconds: 0 });
  });
});
