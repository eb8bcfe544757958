import { type TestDatabase, testDatabase, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openWorld, type World } from "../world.fixture.ts";
import type { DeployStep } from "./progress.ts";

let database: TestDatabase;
let world: World;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  world = await openWorld(database);
});
afterEach(() => world.close());

/** A step that records a line with its end, once the test lets it. */
function recordingStep(name: "build" | "start", recorded: () => string): DeployStep {
  return {
    name,
    resumable: true,
    async run({ deployment, clock, saveAtEnd }) {
      await world.points.pass(name);
      const line = { step: name, type: "stdout", output: recorded(), hidden: false, timestamp: clock.now() } as const;
      saveAtEnd((stores) => stores.deployments.appendLog(deployment.id, [line]));
      return {};
    },
  };
}

const LONG = { leaseSeconds: 60, renewSeconds: 60, pollSeconds: 60, idleSeconds: 60 };

test.each(["build", "start"] as const)(
  "a worker that lost the deployment records nothing with the end of the step %s",
  async (held) => {
    let attempts = 0;
    const steps = [
      recordingStep("build", () => `Built by attempt ${++attempts}.`),
      recordingStep("start", () => `Started by attempt ${++attempts}.`),
    ];
    const point = world.points.hold(held);
    const ended: string[] = [];
    const late = world.worker({ steps, settings: LONG, watch: { after: (name) => void ended.push(name) } });
    const deployment = await world.deploy(await world.application());
    await point.reached;
    late.pause();
    await world.system.deployments.renew(late.name, [deployment.uuid], 0);
    world.worker({ steps });
    expect((await world.ended(deployment)).status).toBe("finished");
    const log = await world.log(deployment);
    ended.length = 0;
    point.open();
    await until(async () => ended.includes("transaction"), { what: "the late worker tries to save its step" });
    expect(await world.log(deployment)).toBe(log);
    expect(log).toContain("Built by attempt 1.");
  },
);

test("what a step records is not saved where the step fails", async () => {
  const failing: DeployStep = {
    ...recordingStep("build", () => "Never recorded."),
    async run(context, state) {
      await recordingStep("build", () => "Never recorded.").run(context, state);
      throw new Error("It broke.");
    },
  };
  world.worker({ steps: [failing] });
  const deployment = await world.deploy(await world.application());
  expect((await world.ended(deployment)).status).toBe("failed");
  expect(await world.log(deployment)).not.toContain("Never recorded.");
});
