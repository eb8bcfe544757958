import type { ReleaseState } from "@berth/core/deploy";
import { dockerClient } from "@berth/docker-client";
import type { Host } from "@berth/host";
import { localHost } from "@berth/host";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { breakableHost } from "./broken-host.fixture.ts";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";

/** Time in which changes by others must be noticed. */

describeDocker("what others do to containers", IMAGES, (fixture) => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = dockerWorld(fixture);
  });
  afterAll(() => world.close());

  async function watched(host: Host = localHost("test")) {
    const engine = await world.engine({ host, docker: dockerClient(host), resyncSeconds: 3 });
    const spec = specOf(await world.image());
    const seen: ReleaseState["state"][] = [];
    engine.onStateChange(({ deploymentUuid, state }) => {
      if (deploymentUuid === spec.deploymentUuid) seen.push(state);
    });
    await engine.start(spec, io());
    const [found] = await world.containersOf(spec);
    await eventually(() => expect(seen).toEqual(["running"]));
    return { engine, spec, seen, container: world.docker.getContainer(found?.Id ?? "") };
  }

  test("is seen: a stop, a start, a pause, a rename and a removal", async () => {
    const { engine, spec, seen, container } = await watched();
    await container.stop({ t: 1 });
    await eventually(() => expect(seen.at(-1)).toBe("exited"));
    await container.start();
    await eventually(() => expect(seen.at(-1)).toBe("running"));
    await container.pause();
    await eventually(() => expect(seen.at(-1)).toBe("paused"));
    expect((await engine.inspect(spec))?.upstream).toBeNull();
    await container.unpause();
    await eventually(() => expect(seen.at(-1)).toBe("running"));
    await container.rename({ name: fixture.name("renamed") });
    expect((await engine.inspect(spec))?.state).toBe("running");
    await engine.start(spec, io());
    expect(await world.containersOf(spec)).toHaveLength(1);
    await container.remove({ force: true });
    await eventually(() => expect(seen.at(-1)).toBe("removing"));
    expect(await engine.inspect(spec)).toBeUndefined();
    expect(await engine.list()).not.toContainEqual(expect.objectContaining({ deploymentUuid: spec.deploymentUuid }));
    await engine.start(spec, io());
    await eventually(() => expect(seen.at(-1)).toBe("running"));
  });

  test("is seen though the connection was lost meanwhile", async () => {
    const broken = breakableHost();
    const { engine, spec, seen, container } = await watched(broken.host);
    broken.cut();
    await container.stop({ t: 1 });
    broken.mend();
    await eventually(() => expect(seen.at(-1)).toBe("exited"));
    expect(await engine.list()).toContainEqual(await engine.inspect(spec));
  });

  test("is seen though somebody who looked for it found first that it is gone", async () => {
    const broken = breakableHost();
    const { engine, spec, seen, container } = await watched(broken.host);
    broken.cut();
    await container.remove({ force: true });
    broken.mend();
    expect(await engine.inspect(spec)).toBeUndefined();
    await eventually(() => expect(seen.at(-1)).toBe("removing"));
  });

  test("is known without asking while events are followed, and not while they may be missed", async () => {
    const broken = breakableHost();
    const { engine, spec, container } = await watched(broken.host);
    const known = () => engine.lastSeen?.()?.filter(({ deploymentUuid }) => deploymentUuid === spec.deploymentUuid);
    const isKnown = async () => expect(known()).toEqual([await engine.inspect(spec)]);
    await eventually(isKnown);
    await container.stop({ t: 1 });
    await eventually(() => expect(known()).toMatchObject([{ state: "exited" }]));
    broken.cut();
    await eventually(() => expect(known()).toBeUndefined());
    broken.mend();
    await eventually(isKnown);
    await container.remove({ force: true });
    await eventually(() => expect(known()).toEqual([]));
  });

  test("is asked again once when a kept connection turns out to be dead", async () => {
    const broken = breakableHost();
    const { engine, spec } = await watched(broken.host);
    for (let round = 0; round < 20; round++) {
      const asked = Promise.all([engine.inspect(spec), engine.list()]);
      setImmediate(() => broken.hiccup());
      expect((await asked)[0]?.state).toBe("running");
    }
  });

  test("tells what cannot be reached", async () => {
    const broken = breakableHost();
    const { engine, spec } = await watched(broken.host);
    broken.cut();
    await expect(engine.inspect(spec)).rejects.toMatchObject({ code: expect.stringMatching(/unreachable$/) });
  });

  test("sees a restart loop as one, and what it is about to run", async () => {
    const image = await world.image('CMD ["node", "-e", "process.exit(7)"]');
    const engine = await world.engine();
    const spec = specOf(image);
    await engine.start(spec, io());
    await eventually(async () => {
      const state = await engine.inspect(spec);
      expect(state).toMatchObject({ exitCode: 7 });
      expect(state?.restartCount).toBeGreaterThan(2);
    });
  });

  test("does not see what another instance of Berth has on the same engine", async () => {
    const { spec } = await watched();
    const other = await world.engine({ instance: `${world.instance}-other` });
    expect(await other.list()).toEqual([]);
    expect(await other.inspect(spec)).toBeUndefined();
    await other.remove(spec);
    expect(await world.containersOf(spec)).toHaveLength(1);
  });
});
