import { newEnv } from "@berth/core/env";
import { redactor } from "@berth/host";
import { testUuid, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "../each-world.fixture.ts";
import type { TestWorker, World } from "../world.fixture.ts";

let world: World;
openEachWorld((opened) => {
  world = opened;
});

const tooLarge = (): never => {
  throw new SyntaxError("Invalid regular expression: /hunter2|/: Regular expression too large");
};

describe("a deployment that cannot be prepared", () => {
  test("fails at once, says so, and tells no secret to the operator's log", async () => {
    world.worker({ redactor: tooLarge });
    const deployment = await world.deploy(await world.application());
    const ended = await world.ended(deployment);
    expect(ended.status).toBe("failed");
    expect(ended.error).toMatch(/^Berth could not prepare this deployment\. Check its variables/);
    expect(await world.log(deployment)).toBe(ended.error);
    expect(new Set(Object.values(await world.steps(deployment)))).toEqual(new Set(["skipped"]));
    expect(world.warnings.join()).toContain("A deployment could not be prepared.");
    expect(world.warnings.join()).toContain("SyntaxError");
    expect(world.warnings.join()).not.toContain("hunter2");
  });

  test("says why where its variables refer to more than any program gets", async () => {
    const app = await world.application();
    const { sharedVariables, teams, envs } = world.stores;
    const fields = { value: "x".repeat(131_000), is_multiline: false, is_shown_once: false, comment: null };
    const owner = { scope: "team", id: (await teams.current())?.id ?? -1 } as const;
    // Unique, since all tests share the team, and a retry repeats the test.
    const long = `LONG_${testUuid()}`;
    await sharedVariables.insert(owner, testUuid(), { key: long, ...fields });
    for (let n = 0; n < 130; n += 1) {
      await envs.insert(app.id, testUuid(), newEnv({ key: `A${n}`, value: `{{ team.${long} }}` }));
    }
    world.worker({ settings: { leaseSeconds: 10 } });
    const { status, error } = await world.ended(await world.deploy(app));
    expect([status, error]).toEqual([
      "failed",
      expect.stringMatching(/^The values that the variables refer to exceed/),
    ]);
  });

  test("obeys a cancel", async () => {
    const deployment = await world.deploy(await world.application());
    const routing = async () => {
      // The router calls it too, before the deployment is claimed.
      const isRunning = (await world.find(deployment)).status === "in_progress";
      if (isRunning) await world.stores.deployments.requestCancel(deployment.uuid);
      return tooLarge();
    };
    world.worker({ stores: { ...world.system, resources: { ...world.system.resources, routing } } });
    expect(await world.ended(deployment)).toMatchObject({ status: "cancelled-by-user", error: "Cancelled by a user." });
  });

  test("leaves nothing of what an earlier attempt made", async () => {
    world.engine.behave = () => ({ statusCode: () => 503 });
    const first = world.worker();
    const deployment = await world.deploy(await world.application());
    await until(async () => (await world.steps(deployment)).health === "running", { what: "it is probed" });
    first.kill();
    world.worker({ redactor: tooLarge });
    expect((await world.ended(deployment)).status).toBe("failed");
    expect(await world.steps(deployment)).toMatchObject({ build: "done", health: "failed", switch: "skipped" });
    expect(world.source.checkouts.size).toBe(0);
    await until(() => world.engine.releases().length === 0, { what: "the candidate is removed" });
    await until(async () => (await world.system.releases.find(deployment.id)) === undefined, {
      what: "its record too",
    });
  });

  test("is finished if its release has become the live one", async () => {
    world.points.hold("put");
    const first = world.worker();
    const application = await world.application();
    const deployment = await world.deploy(application);
    await until(async () => (await world.system.releases.find(deployment.id))?.role === "live", { what: "it is live" });
    first.kill();
    world.worker({ redactor: tooLarge });
    expect(await world.ended(deployment)).toMatchObject({ status: "finished", error: null });
    expect(await world.steps(deployment)).toMatchObject({ switch: "done" });
    await until(async () => (await world.proxy.request(application.uuid)) === deployment.uuid, {
      what: "it is routed",
    });
  });

  test("does not bring the control plane down for ever", async () => {
    const deployment = await world.deploy(await world.application());
    let worker: TestWorker | undefined;
    const deadly = (): never => {
      worker?.kill();
      throw new RangeError("Out of memory.");
    };
    for (let attempt = 1; attempt <= 2; attempt++) {
      worker = world.worker({ redactor: deadly, settings: { attemptsMax: 1 } });
      await until(() => worker?.life.isOver, { what: "it went down" });
    }
    worker = world.worker({ redactor: deadly, settings: { attemptsMax: 1 } });
    const ended = await world.ended(deployment);
    expect(ended.error).toBe("The control plane stopped 2 times during this deployment. Deploy again.");
    expect(worker.life.isOver).toBe(false);
  });
});

test("a variable of 2,000 lines is deployed and hidden", async () => {
  world.worker({ redactor, settings: { leaseSeconds: 10 } });
  const application = await world.application();
  const value = Array.from({ length: 2_000 }, (_, index) => `secret-line-${index}`.padEnd(32, "-")).join("\n");
  const flags = { is_preview: false, is_literal: true, is_multiline: true, is_shown_once: false, is_required: false };
  await world.stores.envs.insert(application.id, "e1234567890123456789abcd", {
    ...flags,
    key: "KEYS",
    value,
    is_runtime: true,
    is_buildtime: true,
    comment: null,
    order: null,
  });
  const deployment = await world.deploy(application);
  expect((await world.ended(deployment)).status).toBe("finished");
  expect(await world.log(deployment)).not.toContain("secret-line");
});
