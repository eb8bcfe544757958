import type { ReleaseSpec } from "@berth/core/deploy";
import { containerName } from "@berth/core/deploy";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";
import type { DockerEngine } from "./engine.ts";

describeDocker("the lasting name of a container", IMAGES, (fixture) => {
  let world: DockerWorld;
  let engine: DockerEngine;
  let name: string;
  let old: ReleaseSpec;
  let candidate: ReleaseSpec;

  beforeAll(async () => {
    world = dockerWorld(fixture);
    engine = await world.engine();
    name = fixture.name("shop");
    old = specOf(await world.image(), { containerName: name });
    candidate = { ...old, deploymentUuid: `${old.deploymentUuid}2` };
    for (const spec of [old, candidate]) await engine.start(spec, io());
  });
  afterAll(() => world.close());

  const ownName = ({ resourceUuid, deploymentUuid }: ReleaseSpec) => containerName(resourceUuid, deploymentUuid);
  const nameOf = async (spec: ReleaseSpec) => (await engine.inspect(spec))?.containerName?.now;
  const names = async () => [await nameOf(old), await nameOf(candidate)];
  const idOf = async (spec: ReleaseSpec) => (await world.containersOf(spec))[0]?.Id ?? "";
  const addressOf = async (spec: ReleaseSpec) => (await engine.inspect(spec))?.upstream?.host;
  /** Resolves the name from another container in the network. */
  const lookedUp = async () => {
    const script = `node -p "require('dns').promises.lookup('${name}').then((a) => console.log(a.address))"`;
    return (await engine.exec(old, script, { timeoutSeconds: 20 })).output.split("\n").find((line) => /^\d/.test(line));
  };

  test("is not its own before it is given", async () => {
    expect(await names()).toEqual([ownName(old), ownName(candidate)]);
  });

  test("goes from the release before to the next one, while both run on, and is a host of that name", async () => {
    await engine.takeName(old);
    expect(await names()).toEqual([name, ownName(candidate)]);
    expect(await lookedUp()).toBe(await addressOf(old));
    const before = [await idOf(old), await idOf(candidate), (await engine.inspect(candidate))?.startedAt];
    await engine.takeName(candidate);
    expect(await names()).toEqual([ownName(old), name]);
    expect(await lookedUp()).toBe(await addressOf(candidate));
    expect([await idOf(old), await idOf(candidate), (await engine.inspect(candidate))?.startedAt]).toEqual(before);
  });

  test("is given again after it was given half, twice at once, and when it is there", async () => {
    // The state that a control plane leaves when it dies between the two renames.
    await world.docker.getContainer(name).rename({ name: ownName(candidate) });
    await Promise.all([engine.takeName(candidate), (await world.engine()).takeName(candidate)]);
    await engine.takeName(candidate);
    expect(await names()).toEqual([ownName(old), name]);
  });

  test("is reported when somebody changes it", async () => {
    const seen: (string | undefined)[] = [];
    const stop = engine.onStateChange(({ containerName: now }) => seen.push(now?.now));
    const renamed = fixture.name("mine");
    await world.docker.getContainer(name).rename({ name: renamed });
    await eventually(() => expect(seen).toContain(renamed));
    stop();
    await engine.takeName(candidate);
    expect(await nameOf(candidate)).toBe(name);
  });

  test("is not taken from what is somebody else's, which is said before anything is done", async () => {
    const foreign = fixture.name("foreign");
    const labels = { ...fixture.labels };
    const container = await world.docker.createContainer({
      name: foreign,
      Image: old.artifact.type === "image" ? old.artifact.image : "",
      Labels: labels,
    });
    const spec = specOf(await world.image(), { containerName: foreign });
    const refused = { code: "deploy.start_failed", message: expect.stringContaining(`The name ${foreign} is taken`) };
    await expect(engine.requireName(spec)).rejects.toMatchObject(refused);
    await engine.start(spec, io());
    await expect(engine.takeName(spec)).rejects.toMatchObject(refused);
    expect(await nameOf(spec)).toBe(ownName(spec));
    await container.remove();
    await engine.requireName(spec);
    await engine.takeName(spec);
    expect(await nameOf(spec)).toBe(foreign);
    const other = specOf(await world.image(), { containerName: foreign });
    await expect(engine.requireName(other)).rejects.toThrow(/the container of test, which was deployed with it/);
  });

  test("a release that has none keeps its own", async () => {
    const spec = specOf(await world.image());
    await engine.start(spec, io());
    await engine.requireName(spec);
    await engine.takeName(spec);
    expect((await engine.inspect(spec))?.containerName).toBeUndefined();
    const info = await world.docker.getContainer(await idOf(spec)).inspect();
    expect(info.Name).toBe(`/${ownName(spec)}`);
  });
});
