import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { engineConformance } from "../conformance.ts";
import { dockerWorld, hasDocker } from "./docker.fixture.ts";
import { releaseFilter } from "./labels.ts";

describe.skipIf(!hasDocker)("on Docker", () => {
  engineConformance("docker", async () => {
    const world = dockerWorld();
    const folder = mkdtempSync(join(tmpdir(), "berth-docker-"));
    const marker = join(folder, "marker");
    let engine = world.engine();
    return {
      engine,
      marker,
      artifact: () => world.image(),
      async reincarnate() {
        await engine.close({ stopReleases: false });
        engine = world.engine();
        return engine;
      },
      async leftovers(ref) {
        const filters = { ...releaseFilter(world.instance, ref) };
        const containers = await world.docker.listContainers({ all: true, filters });
        return containers.map(({ Names }) => Names.join());
      },
      async hasMarker() {
        if (existsSync(marker)) return true;
        const filters = { ...releaseFilter(world.instance) };
        const containers = await world.docker.listContainers({ all: true, filters });
        const changes = await Promise.all(
          containers.map(async ({ Id }) => await world.docker.getContainer(Id).changes()),
        );
        return JSON.stringify(changes).includes(marker);
      },
      async close() {
        await world.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });
});
