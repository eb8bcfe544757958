import { describeDocker } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cutEngine } from "./faults/cut-engine.ts";
import { ground } from "./faults/ground.ts";
import { SCENARIOS, type Sizes } from "./faults/scenarios.ts";

const ENGINE_DEPLOYMENTS = 12;
/** The short form of `npm run faults`. */
const SHORT: Sizes = { restarts: 2, frozenSeconds: 1, halfOpen: 100, kills: 1, engineDeployments: ENGINE_DEPLOYMENTS };

describe("a server whose ground breaks", () => {
  let made: Awaited<ReturnType<typeof ground>>;
  beforeAll(async () => {
    made = await ground();
  }, 120_000);
  afterAll(() => made?.dispose());

  test.each(["restarts", "freeze", "half-open", "proxy", "postmaster", "server"])(
    "holds: %s",
    async (name) => {
      expect(await SCENARIOS[name]?.run(made, SHORT)).toEqual(expect.any(String));
    },
    180_000,
  );
});

describeDocker("a server whose connections to the engine are cut", ["busybox:stable", "caddy:2"], () => {
  test("finishes its deployments", async () => {
    expect(await cutEngine(ENGINE_DEPLOYMENTS)).toContain(`${ENGINE_DEPLOYMENTS} of ${ENGINE_DEPLOYMENTS} deployments`);
  }, 300_000);
});
