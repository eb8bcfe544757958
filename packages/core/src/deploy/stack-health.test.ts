import { describe, expect, test } from "vitest";
import { seen } from "./plan.fixture.ts";
import type { ReleaseContainer } from "./release.ts";
import { failingContainer, runsOf, stackCrash, stackFailedCheck, stackProblem } from "./stack-health.ts";

const container = (change: Partial<ReleaseContainer> = {}): ReleaseContainer => ({
  name: "web",
  state: "running",
  restartCount: 0,
  exitCode: null,
  startedAt: null,
  address: "10.0.0.2",
  port: 80,
  isExcluded: false,
  ...change,
});
const beside = container({ name: "db", health: "healthy" });
const once = container({ name: "migrate", state: "exited", exitCode: 1, isExcluded: true });

describe("a stack that was just started", () => {
  test.each<[string, readonly ReleaseContainer[], string | undefined, string | undefined]>([
    ["is healthy when its containers are", [container({ health: "healthy" }), beside], undefined, undefined],
    ["without a check is healthy after a while", [container()], undefined, undefined],
    [
      "waits for a check",
      [container({ health: "starting" }), beside],
      undefined,
      "container web has not passed its HEALTHCHECK yet",
    ],
    ["waits for what is still to start", [container({ state: "created" })], undefined, "container web is created"],
    [
      "fails with a check",
      [container({ health: "unhealthy" })],
      undefined,
      "container web has not passed its HEALTHCHECK yet",
    ],
    [
      "waits for what ended and will be restarted, which the engine calls unhealthy",
      [container({ state: "restarting", health: "unhealthy", restartCount: 1, exitCode: 1 })],
      undefined,
      "container web is restarting",
    ],
    [
      "fails with what exited",
      [beside, container({ state: "exited", exitCode: 3 })],
      "container web: it exited with code 3",
      "container web is exited",
    ],
    [
      "is fine with what has done its work",
      [beside, container({ state: "exited", exitCode: 0 })],
      undefined,
      undefined,
    ],
    ["does not count what is excluded", [beside, once], undefined, undefined],
    [
      "counts what is excluded when there is nothing else",
      [once],
      "container migrate: it exited with code 1",
      "container migrate is exited",
    ],
  ])("%s", (_title, containers, crash, problem) => {
    const state = seen("d1", { containers });
    expect(stackCrash(state)).toBe(crash);
    expect(stackProblem(state, 10)).toBe(problem);
  });

  test("is not judged in its first moments", () => {
    const state = seen("d1", { containers: [container()] });
    expect(stackProblem(state, 1)).toBe("container web has not run for long yet");
    expect(stackCrash(state)).toBeUndefined();
  });

  test("that is gone has crashed", () => {
    expect(stackCrash(undefined)).toBe("it is gone");
    expect(stackProblem(undefined, 10)).toBeDefined();
  });

  test("blames the container that crashed before those that wait for it", () => {
    const waits = container({ name: "db", health: "starting" });
    const crashes = container({ restartCount: 9, exitCode: 1, state: "restarting" });
    expect(failingContainer(seen("d1", { containers: [waits, crashes] }))).toBe("web");
    expect(failingContainer(seen("d1", { containers: [container(), waits] }))).toBe("db");
    expect(failingContainer(seen("d1", { containers: [container()] }))).toBeUndefined();
    expect(failingContainer(seen("d1"))).toBeUndefined();
  });

  test("fails where the check of a container that runs fails, and blames that one", () => {
    const failing = container({ name: "db", health: "unhealthy" });
    const state = seen("d1", { containers: [container({ health: "starting" }), failing] });
    expect(stackFailedCheck(state)).toBe("container db: its HEALTHCHECK fails");
    expect(failingContainer(state)).toBe("db");
    const ended = container({ state: "restarting", health: "unhealthy", exitCode: 1 });
    expect(stackFailedCheck(seen("d1", { containers: [ended] }))).toBeUndefined();
  });

  test("that restarts again and again has crashed", () => {
    expect(
      stackCrash(seen("d1", { containers: [container({ restartCount: 9, exitCode: 1, state: "restarting" })] })),
    ).toContain("container web: it exited with code 1, 9 times in a row");
  });
});

test("runs change when something that counts was started or has restarted", () => {
  const startedAt = new Date(1000);
  const runs = (...containers: ReleaseContainer[]) => runsOf(seen("d1", { containers }));
  const first = runs(container({ startedAt }), once);
  expect(runs(container({ startedAt, health: "starting" }), { ...once, restartCount: 3 })).toBe(first);
  expect(runs(container({ startedAt, restartCount: 1 }), once)).not.toBe(first);
  expect(runs(container({ startedAt: new Date(2000) }), once)).not.toBe(first);
});
