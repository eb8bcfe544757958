import { describeDocker } from "@berth/testing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type DockerWorld, dockerWorld, IMAGES, io, specOf } from "./docker.fixture.ts";

describeDocker("what a container uses", IMAGES, (fixture) => {
  let world: DockerWorld;
  beforeAll(async () => {
    world = dockerWorld(fixture);
  });
  afterAll(() => world.close());

  test("is told in numbers that grow with its work, and not at all when it does not run", async () => {
    const engine = await world.engine();
    const spec = specOf(await world.image());
    const { upstream } = await engine.start(spec, io());
    const url = `http://${upstream?.host}:${upstream?.port}/allocate?bytes=${100 << 20}`;
    const before = await engine.usage(spec);
    await vi.waitFor(async () => expect((await fetch(url)).status).toBe(200), { timeout: 20_000, interval: 50 });
    await engine.exec(spec, "node -e 'for (let i = 0; i < 5e8; i++);'", { timeoutSeconds: 60 });
    const after = await engine.usage(spec);
    expect(after?.processes).toBeGreaterThan(1);
    expect(after?.memoryBytes).toBeGreaterThan(100 << 20);
    expect(after?.cpuSeconds).toBeGreaterThan((before?.cpuSeconds ?? 0) + 0.1);
    expect(after?.networkBytes?.out).toBeGreaterThan(before?.networkBytes?.out ?? 0);
    await engine.stop(spec, { graceSeconds: 1 });
    expect(await engine.usage(spec)).toBeUndefined();
  });
});
