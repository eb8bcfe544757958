import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeDocker } from "@berth/testing";
import { engineConformance } from "../conformance.ts";
import { dockerWorld, IMAGES } from "./docker.fixture.ts";

describeDocker("on Docker", IMAGES, (fixture) => {
  engineConformance("docker", async () => {
    const world = dockerWorld(fixture);
    const folder = mkdtempSync(join(tmpdir(), "berth-docker-"));
    const marker = join(folder, "marker");
    let engine = await world.engine();
    return {
      engine,
      marker,
      artifact: () => world.image(),
      async reincarnate() {
        await engine.close({ stopReleases: false });
        engine = await world.engine();
        return engine;
      },
      leftovers: async (ref) => (await world.containersOf(ref)).map(({ Names }) => Names.join()),
      async hasMarker() {
        if (existsSync(marker)) return true;
        const containers = await world.containersOf({});
        const changes = await Promise.all(containers.map(({ Id }) => world.docker.getContainer(Id).changes()));
        return JSON.stringify(changes).includes(marker);
      },
      async close() {
        await world.close();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  });
});
