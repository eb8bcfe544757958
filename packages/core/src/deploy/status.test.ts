import { describe, expect, test } from "vitest";
import { shownServiceStatus } from "./shown-status.ts";
import { aggregateServiceStatus, aggregateStatus, type ContainerStatus } from "./status.ts";

const container = (
  state: ContainerStatus["state"],
  health: ContainerStatus["health"] = "unknown",
  restartCount = 0,
) => ({
  state,
  health,
  restartCount,
});

describe("the status of several containers", () => {
  test.each<[string, string, readonly ContainerStatus[]]>([
    ["nothing there is exited", "exited:unhealthy", []],
    ["an exited one is exited", "exited:unhealthy", [container("exited")]],
    ["one that is degraded decides", "degraded:unhealthy", [container("degraded"), container("restarting")]],
    [
      "one that restarts comes before a crash loop",
      "restarting:unknown",
      [container("restarting"), container("exited", "unknown", 3)],
    ],
    ["an exit after restarts is a crash loop", "degraded:unhealthy", [container("exited", "unknown", 1)]],
    ["running beside exited is degraded", "degraded:unhealthy", [container("running", "healthy"), container("exited")]],
    [
      "running beside starting is starting",
      "starting:unknown",
      [container("running", "healthy"), container("starting")],
    ],
    ["all healthy", "running:healthy", [container("running", "healthy"), container("running", "healthy")]],
    ["one not probed yet", "running:unknown", [container("running", "healthy"), container("running")]],
    ["unhealthy comes before unknown", "running:unhealthy", [container("running"), container("running", "unhealthy")]],
    ["dead", "degraded:unhealthy", [container("dead"), container("paused")]],
    ["being removed", "degraded:unhealthy", [container("removing")]],
    ["paused", "paused:unknown", [container("paused"), container("created")]],
    ["created", "starting:unknown", [container("created")]],
    ["starting", "starting:unknown", [container("starting"), container("exited")]],
  ])("%s", (_title, expected, containers) => {
    expect(aggregateStatus(containers)).toBe(expected);
    expect(aggregateStatus([...containers].reverse())).toBe(expected);
  });
});

describe("the status of a service", () => {
  const counted = (status: ContainerStatus) => ({ ...status, isExcluded: false });
  const excluded = (status: ContainerStatus) => ({ ...status, isExcluded: true });
  const healthy = container("running", "healthy");
  type Member = ReturnType<typeof counted>;

  test.each<[string, string, readonly Member[]]>([
    ["[S30] one that restarts makes all of it degraded", "degraded:unhealthy", [counted(container("restarting"))]],
    ["[S30] a stopped one is exited, without a health", "exited", [counted(container("exited"))]],
    ["a running one has a health", "running:healthy", [counted(healthy), counted(healthy)]],
    ["[S30] running beside exited is degraded", "degraded:unhealthy", [counted(healthy), counted(container("exited"))]],
    ["an excluded one does not count", "running:healthy", [counted(healthy), excluded(container("exited"))]],
    ["all excluded: running", "running:healthy:excluded", [excluded(healthy)]],
    ["all excluded: running, not probed", "running:unknown:excluded", [excluded(container("running"))]],
    ["all excluded: degraded", "degraded:excluded", [excluded(healthy), excluded(container("exited"))]],
    ["all excluded: paused", "paused:excluded", [excluded(container("paused"))]],
    ["all excluded: starting", "starting:excluded", [excluded(container("created"))]],
    ["all excluded: exited", "exited", [excluded(container("exited"))]],
    ["no container at all", "unknown:unknown:excluded", []],
  ])("%s", (_title, expected, containers) => {
    expect(aggregateServiceStatus(containers, { isStarting: false })).toBe(expected);
    expect(aggregateServiceStatus([...containers].reverse(), { isStarting: false })).toBe(expected);
    expect(aggregateServiceStatus(containers, { isStarting: true })).toBe("starting:unhealthy");
  });

  test("is shown without a health while it is down, and as removing while it goes", () => {
    const shown = (status: string, removing_at: Date | null = null) => shownServiceStatus({ status, removing_at });
    expect(["exited:unhealthy", "exited", "running:healthy:excluded"].map((status) => shown(status))).toEqual([
      "exited",
      "exited",
      "running:healthy:excluded",
    ]);
    expect(shown("running:healthy", new Date(0))).toBe("removing:unhealthy");
  });
});
