import { describe, expect, test } from "vitest";
import type { ReleaseContainer, ReleaseState } from "./release.ts";
import { withUnhealthyReplicas } from "./replica-state.ts";
import { upstreamsOf } from "./site.ts";

const container = (number: number, change: Partial<ReleaseContainer> = {}): ReleaseContainer => ({
  ...{ name: "replica", isReplica: true, number, state: "running", restartCount: 0, exitCode: null, startedAt: null },
  ...{ address: `192.0.2.${number}`, port: 3000, isExcluded: false },
  ...change,
});
const release = (containers?: readonly ReleaseContainer[]): ReleaseState => ({
  ...{ resourceUuid: "r", deploymentUuid: "d", state: "running", upstream: { host: "192.0.2.1", port: 3000 } },
  ...{ restartCount: 0, exitCode: null, startedAt: null },
  ...(containers === undefined ? {} : { containers }),
});
const hosts = (state: ReleaseState) =>
  upstreamsOf({ desiredState: "running", live: { upstream: null }, observed: state }).map(({ host }) => host);

describe("replicas that a probe found unhealthy", () => {
  const all = [container(1), container(2), container(3)];
  const found = (...titles: readonly string[]) => new Set(titles.map((title) => `replica-${title}`));

  test.each([
    ["get no requests", found("2"), ["192.0.2.1", "192.0.2.3"]],
    ["get none either if they are the first", found("1", "3"), ["192.0.2.2"]],
    ["get them while no other is healthy", found("1", "2", "3"), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]],
    ["may be gone by now", found("7"), ["192.0.2.1", "192.0.2.2", "192.0.2.3"]],
  ])("%s", (_title, unhealthy, wanted) => {
    expect(hosts(withUnhealthyReplicas(release(all), unhealthy))).toEqual(wanted);
  });

  test("keep the health that their engine reports", () => {
    const state = release([container(1, { health: "healthy" }), container(2)]);
    expect(withUnhealthyReplicas(state, found("1", "2")).containers?.map(({ health }) => health)).toEqual([
      "healthy",
      "unhealthy",
    ]);
  });

  test("leave the containers of a stack and a release of one container as they are", () => {
    const { isReplica: _none, ...member } = container(1);
    const stack = release([member, { ...member, number: 2 }]);
    expect(withUnhealthyReplicas(stack, found("1")).containers).toEqual(stack.containers);
    expect(withUnhealthyReplicas(release(), found("1"))).toEqual(release());
  });
});
