import { describe } from "vitest";
import { processPlace } from "./crash.fixture.ts";
import { crashSuite } from "./crash-suite.fixture.ts";

describe("kill -9 of the server in a step of a deployment", () => {
  crashSuite({ open: processPlace, moments: ["before", "middle", "after"], hasProductTimes: true });
});
