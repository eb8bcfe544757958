import { describe, expect, test } from "vitest";
import { aggregateStatus, type ContainerStatus } from "./status.ts";

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
