import type { ReleaseState } from "@berth/core/deploy";
import { dockerClient } from "@berth/docker-client";
import type { Host } from "@berth/host";
import { localHost } from "@berth/host";
import { describeDocker } from "@berth/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { breakableHost } from "./broken-host.fixture.ts";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";

/** Time in which changes by others must be noticed. */
const SEEN = { timeout: 5000, interval: 20 };

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
    await vi.waitFor(() => expect(seen).toEqual(["running"]), SEEN);
    return { engine, spec, seen, container: world.docker.getContainer(found?.Id ?? "") };
  }

  test("is seen: a stop, a start, a pause, a rename and a removal", async () => {
    const { engine, spec, seen, container } = await watched();
    await container.stop({ t: 1 });
    await vi.waitFor(() => expect(seen.at(-1)).toBe("exited"), SEEN);
    await container.start();
    await vi.waitFor(() => expect(seen.at(-1)).toBe("running"), SEEN);
    await container.pause();
    await vi.waitFor(() => expect(seen.at(-1)).toBe("paused"), SEEN);
    expect((await engine.inspect(spec))?.upstream).toBeNull();
    await container.unpause();
    await vi.waitFor(() => expect(seen.at(-1)).toBe("running"), SEEN);
    await container.rename({ name: fixture.name("renamed") });
    expect((await engine.inspect(spec))?.state).toBe("running");
    await engine.start(spec, io());
    expect(await world.containersOf(spec)).toHaveLength(1);
    await container.remove({ force: true });
    await vi.waitFor(() => expect(seen.at(-1)).toBe("removing"), SEEN);
    expect(await engine.inspect(spec)).toBeUndefined();
    expect(await engine.list()).not.toContainEqual(expect.objectContaining({ deploymentUuid: spec.deploymentUuid }));
    await engine.start(spec, io());
    await vi.waitFor(() => expect(seen.at(-1)).toBe("running"), SEEN);
  });

  test("is seen though the connection was lost meanwhile", async () => {
    const broken = breakableHost();
    const { engine, spec, seen, container } = await watched(broken.host);
    broken.cut();
    await container.stop({ t: 1 });
    broken.mend();
    await vi.waitFor(() => expect(seen.at(-1)).toBe("exited"), SEEN);
    expect(await engine.list()).toContainEqual(await engine.inspect(spec));
  });

  test("is seen though somebody who looked for it found first that it is gone", async () => {
    const broken = breakableHost();
    const { engine, spec, seen, container } = await watched(broken.host);
    broken.cut();
    await container.remove({ force: true });
    broken.mend();
    expect(await engine.inspect(spec)).toBeUndefined();
    await vi.waitFor(() => expect(seen.at(-1)).toBe("removing"), SEEN);
  });

  test("is known without asking while events are followed, and not while they may be missed", async () => {
    const broken = breakableHost();
    const { engine, spec, container } = await watched(broken.host);
    const known = () => engine.lastSeen?.()?.filter(({ deploymentUuid }) => deploymentUuid === spec.deploymentUuid);
    const isKnown = async () => expect(known()).toEqual([await engine.inspect(spec)]);
    await vi.waitFor(isKnown, SEEN);
    await container.stop({ t: 1 });
    await vi.waitFor(() => expect(known()).toMatchObject([{ state: "exited" }]), SEEN);
    broken.cut();
    await vi.waitFor(() => expect(known()).toBeUndefined(), SEEN);
    broken.mend();
    await vi.waitFor(isKnown, SEEN);
    await container.remove({ force: true });
    await vi.waitFor(() => expect(known()).toEqual([]), SEEN);
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
    await vi.waitFor(
      async () => {
        const state = await engine.inspect(spec);
        expect(state).toMatchObject({ exitCode: 7 });
        expect(state?.restartCount).toBeGreaterThan(2);
      },
      { timeout: 20_000, interval: 50 },
    );
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
