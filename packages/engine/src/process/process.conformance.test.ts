import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { pidsWithEnv } from "@berth/host";
import { engineConformance } from "../conformance.ts";
import { CONFORMANCE_APP } from "../conformance-app.ts";
import { markerOf } from "./environment.ts";
import { fileBuilder, io, processWorld, temporaryFolder } from "./process.fixture.ts";

engineConformance("process", async () => {
  const runtimeFolder = temporaryFolder("berth-runtime-");
  const world = processWorld(runtimeFolder);
  const marker = join(world.root, "marker");
  const builder = fileBuilder({ "app.mjs": CONFORMANCE_APP });
  let engine = world.engine({ builder });
  const numbers = new Map<string, number>();
  return {
    engine,
    marker,
    async artifact(ref) {
      // Numbers resources like the suite does.
      if (!numbers.has(ref.resourceUuid)) numbers.set(ref.resourceUuid, Number(ref.resourceUuid.split("-").at(-1)));
      const resourceNumber = numbers.get(ref.resourceUuid) ?? 1;
      const request = { ...ref, resourceNumber, sourceFolder: world.root, config: CONFIG, env: {}, isForced: false };
      const artifact = await engine.build(request, io());
      return { ...artifact, run: { type: "shell", script: "node app.mjs" } };
    },
    async reincarnate() {
      await engine.close({ stopReleases: false });
      engine = world.engine({ builder });
      return engine;
    },
    async leftovers(ref) {
      const found = readdirSync(world.dataFolder, { recursive: true, encoding: "utf8" });
      return [
        ...found.filter((path) => path.includes(ref.deploymentUuid)),
        ...pidsWithEnv(markerOf(ref)).map((pid) => `process ${pid}`),
        ...["memory", "cpu", "pids"]
          .map((controller) => `/sys/fs/cgroup/${controller}/berth/${ref.deploymentUuid}`)
          .filter((path) => existsSync(path)),
      ];
    },
    hasMarker: async () => existsSync(marker),
    async close() {
      await engine.close({ stopReleases: true });
      world.remove();
      rmSync(runtimeFolder, { recursive: true, force: true });
    },
  };
});
