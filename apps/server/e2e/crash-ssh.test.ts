import { describeLargeDocker, SERVER_IMAGE } from "@berth/testing";
import { enginePlace } from "./crash.fixture.ts";
import { crashSuite } from "./crash-suite.fixture.ts";

describeLargeDocker(
  "kill -9 of the server in a step of deployments to two servers over SSH",
  [SERVER_IMAGE, "busybox:stable", "caddy:2"],
  (docker) => {
    crashSuite({
      open: () =>
        enginePlace(docker, {
          machines: [
            ["application", "stack"],
            ["application", "compose"],
          ],
        }),
      // Compared with a local engine only the connection differs, which breaks while data is in transit.
      moments: ["middle"],
      steps: ["build", "start", "health", "switch"],
    });
  },
);
