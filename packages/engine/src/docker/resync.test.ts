import { PassThrough } from "node:stream";
import { dockerClient, LABELS, RELEASE_ROLE } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { until } from "@berth/testing";
import { expect, test, vi } from "vitest";
import { watchReleases } from "./watch.ts";

test("a full snapshot inspects the containers of which the list says something else", async () => {
  const docker = dockerClient(localHost("here"));
  const labels = {
    [LABELS.managed]: "true",
    [LABELS.instance]: "me",
    [LABELS.role]: RELEASE_ROLE,
    [LABELS.resource]: "resource",
    [LABELS.deployment]: "deployment",
  };
  let status = "Up 1 second (healthy)";
  let lists = 0;
  let inspections = 0;
  const state = () => ({
    Status: "running",
    Health: { Status: status.includes("unhealthy") ? "unhealthy" : "healthy" },
  });
  vi.spyOn(docker, "getEvents").mockImplementation(async () => new PassThrough());
  vi.spyOn(docker, "listContainers").mockImplementation(async () => {
    lists += 1;
    return [{ Id: "one", Labels: labels, Names: ["/one"], State: "running", Status: status }] as never;
  });
  vi.spyOn(docker, "getContainer").mockReturnValue({
    inspect: async () => {
      inspections += 1;
      return {
        ...{ Id: "one", Name: "/one", RestartCount: 0, Config: { Labels: labels }, State: state() },
        ...{ HostConfig: {}, NetworkSettings: { Networks: {} } },
      };
    },
  } as never);
  const watch = watchReleases({ docker, instance: "me", resyncSeconds: 0.02, warn: vi.fn() });
  try {
    watch.follow();
    await until(() => lists > 6, { what: "snapshots are made" });
    expect(inspections).toBeLessThan(lists / 2);
    status = "Up 2 seconds (unhealthy)";
    await until(() => watch.lastSeen()?.[0]?.health === "unhealthy", { what: "the change is seen" });
    const seen = lists;
    // The engine may have dropped the event of a restart, which the list does not show.
    await until(() => lists > seen + 10, { what: "further snapshots are made" });
    expect(inspections).toBeGreaterThan(2);
    expect(inspections).toBeLessThan(lists / 2);
  } finally {
    watch.close();
  }
});
