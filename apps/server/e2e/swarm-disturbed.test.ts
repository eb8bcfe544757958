import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeDocker, SERVER_IMAGE } from "@berth/testing";
import { afterAll, afterEach, beforeAll } from "vitest";
import { cancelSuite } from "./cancel-suite.fixture.ts";
import { clusterPlace } from "./cluster.fixture.ts";
import type { CrashInstallation } from "./crash.fixture.ts";
import { crashSuite, STEPS } from "./crash-suite.fixture.ts";
import { cutManagerSuite } from "./cut-manager-suite.fixture.ts";
import { type EndlessRegistry, endlessRegistry } from "./endless-registry.fixture.ts";
import { WIDE } from "./faults/suites.ts";
import { endDeployments } from "./placed-resource.fixture.ts";

const isWide = process.env[WIDE] !== undefined;

describeDocker(
  "a deployment of three containers, and one of a compose file, to a cluster of three nodes",
  [SERVER_IMAGE, "busybox:stable", "caddy:2"],
  (docker) => {
    const folder = mkdtempSync(join(tmpdir(), "berth-pause-"));
    let place: CrashInstallation;
    let registry: EndlessRegistry;
    beforeAll(async () => {
      registry = await endlessRegistry(docker);
    });
    afterEach(async () => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name));
      if (place !== undefined) await endDeployments(place.server, place.resources);
    });
    afterAll(() => {
      registry?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    crashSuite({
      open: async () => (place = await clusterPlace(docker, { env: { BERTH_PAUSE: folder } })),
      moments: isWide ? ["before", "middle", "after"] : ["after"],
      // The others do not involve the cluster.
      steps: isWide ? STEPS : ["start", "health", "switch"],
    });
    cutManagerSuite({
      place: () => place,
      folder,
      // Noticing it takes half a minute each time.
      pauses: isWide ? ["build", "start", "start-end", "health", "switch"] : ["start"],
    });
    cancelSuite({ place: () => place, folder, steps: STEPS, registry: () => registry });
  },
);
