import { describe } from "vitest";
import { processPlace } from "./crash.fixture.ts";
import { crashSuite } from "./crash-suite.fixture.ts";

describe("kill -9 of the server in a step of a deployment", () => {
  // Before a step begins, the one before it is done and recorded: `worker/src/crash` kills behind each change.
  crashSuite({ open: processPlace, moments: ["middle", "after"], hasProductTimes: true });
});
