import { expect, test } from "vitest";
import { openEachWorld } from "../each-world.fixture.ts";
import type { World } from "../world.fixture.ts";
import type { DeployStep } from "./progress.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

/** Records a line with its end. */
const recording: DeployStep = {
  name: "build",
  resumable: true,
  async run({ deployment, clock, saveAtEnd }) {
    const line = { step: "build", type: "stdout", output: "Recorded.", hidden: false, timestamp: clock.now() } as const;
    saveAtEnd((stores) => stores.deployments.appendLog(deployment.id, [line]));
    return {};
  },
};

test("what a step records is saved with its end, and not where the step fails", async () => {
  const failing: DeployStep = {
    ...recording,
    async run(context, state) {
      await recording.run(context, state);
      throw new Error("It broke.");
    },
  };
  const logWith = async (step: DeployStep) => {
    const worker = world.worker({ steps: [step] });
    const deployment = await world.deploy(await world.application());
    const { status } = await world.ended(deployment);
    await worker.stop({ graceSeconds: 0 });
    return [status, (await world.log(deployment)).includes("Recorded.")];
  };
  expect(await logWith(recording)).toEqual(["finished", true]);
  expect(await logWith(failing)).toEqual(["failed", false]);
});
