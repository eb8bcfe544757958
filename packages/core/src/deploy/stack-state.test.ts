import { describe, expect, test } from "vitest";
import type { ReleaseContainer } from "./release.ts";
import { stackState } from "./stack-state.ts";

const container = (change: Partial<ReleaseContainer> = {}): ReleaseContainer => ({
  name: "web",
  state: "running",
  restartCount: 0,
  exitCode: null,
  startedAt: new Date(1),
  address: "10.0.0.2",
  port: null,
  isExcluded: false,
  ...change,
});
const once = container({ name: "job", state: "exited", exitCode: 0, isExcluded: true, address: null });

describe("the state of a release of several containers", () => {
  test.each([
    [[container(), container()], "running", undefined],
    [[container(), once], "running", undefined],
    [[container(), { ...once, exitCode: 3 }], "running", undefined],
    [[once], "exited", undefined],
    [[container(), container({ state: "restarting" })], "restarting", undefined],
    [[container(), container({ state: "exited", exitCode: 1 })], "running", "unhealthy"],
    [[container(), container({ state: "exited", exitCode: 0 })], "running", undefined],
    [[container({ state: "exited" }), container({ state: "exited" })], "exited", undefined],
    [[container({ state: "created" })], "created", undefined],
    [[container({ health: "healthy" }), container()], "running", undefined],
    [[container({ health: "healthy" }), container({ health: "healthy" }), once], "running", "healthy"],
    [[container({ health: "starting" }), container()], "running", "starting"],
    [[container({ health: "healthy" }), container({ health: "starting" })], "running", "starting"],
    [[container({ health: "starting" }), container({ health: "unhealthy" })], "running", "unhealthy"],
    [[], "exited", undefined],
  ] as const)("of %j is %s, health %s", (containers, state, health) => {
    expect(stackState(containers)).toMatchObject({ state, ...(health === undefined ? {} : { health }) });
    expect(stackState(containers).health).toBe(health);
  });

  test("leads requests to the first that takes some, while that one runs", () => {
    const web = container({ name: "web", port: 80, address: "10.0.0.3" });
    expect(stackState([container(), web]).upstream).toEqual({ host: "10.0.0.3", port: 80 });
    expect(stackState([container(), { ...web, state: "restarting" }]).upstream).toBeNull();
    expect(stackState([container()]).upstream).toBeNull();
  });

  test("counts all restarts, and names the exit code of what failed", () => {
    const crashed = container({ state: "exited", exitCode: 7, restartCount: 3, startedAt: new Date(9) });
    expect(stackState([container({ restartCount: 1 }), crashed])).toMatchObject({
      restartCount: 4,
      exitCode: 7,
      startedAt: new Date(9),
    });
  });
});
