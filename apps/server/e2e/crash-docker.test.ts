import { describeLargeDocker } from "@berth/testing";
import { enginePlace } from "./crash.fixture.ts";
import { crashSuite } from "./crash-suite.fixture.ts";

describeLargeDocker(
  "kill -9 of the server in a step of deployments to Docker: one of each kind",
  ["busybox:stable", "postgres:17-alpine", "caddy:2"],
  (docker) => {
    crashSuite({
      open: () => enginePlace(docker, { here: ["application", "compose", "database", "stack", "service"] }),
      moments: ["middle", "after"],
      // The checkout does not involve the engine; `crash.test.ts` covers it.
      steps: ["build", "start", "health", "switch"],
    });
  },
);
