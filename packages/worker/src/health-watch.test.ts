import { type TestDatabase, testDatabase } from "@berth/testing";
import { afterAll, expect, test } from "vitest";
import { openWorld, until } from "./world.fixture.ts";

let database: TestDatabase | undefined;
afterAll(() => database?.close());

test("a watched application that hangs is given up after half a minute, however long it may take", async () => {
  database = await testDatabase();
  const world = await openWorld(database);
  const timeouts: number[] = [];
  const check = { health_check_enabled: true, health_check_type: "cmd", health_check_command: "up" } as const;
  const application = await world.application({ ...check, health_check_timeout: 3600 });
  const engineFor = world.engine.for;
  world.engine.for = (owner) => {
    const engine = engineFor(owner);
    return {
      ...engine,
      exec: async (_ref, _script, { timeoutSeconds }) => {
        timeouts.push(timeoutSeconds);
        return { exitCode: 0, output: "", isTruncated: false };
      },
    };
  };
  const first = world.worker();
  expect((await world.ended(await world.deploy(application))).status).toBe("finished");
  // The deployment itself waits as long as it is asked to.
  expect(timeouts).toEqual([3600]);
  first.kill();
  world.worker();
  await until("it is watched", () => timeouts.length > 1);
  expect(timeouts[1]).toBe(30);
  await world.close();
});
