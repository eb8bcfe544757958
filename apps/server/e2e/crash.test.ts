import { describe } from "vitest";
import { processPlace } from "./crash.fixture.ts";
import { crashSuite } from "./crash-suite.fixture.ts";

describe("kill -9 of the server in a step of a deployment", () => {
  // `before` is not tested here: `worker/src/crash.test.ts` kills after each change.
  crashSuite({ open: processPlace, moments: ["middle", "after"], hasProductTimes: true });
});
