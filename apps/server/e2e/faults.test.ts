import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ground } from "./faults/ground.ts";
import { SCENARIOS, type Sizes } from "./faults/scenarios.ts";

/** The short form of `npm run faults`. */
const SHORT: Sizes = { restarts: 2, frozenSeconds: 1, halfOpen: 100, kills: 1 };

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
