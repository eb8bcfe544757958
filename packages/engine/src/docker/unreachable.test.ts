import { dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { until } from "@berth/testing";
import { expect, test, vi } from "vitest";
import { watchReleases } from "./watch.ts";

test("the events of an engine that cannot be had are reported once, and asked for again as soon as it answers", async () => {
  const docker = dockerClient(localHost("here"));
  const getEvents = vi.spyOn(docker, "getEvents").mockRejectedValue(new Error("connect ECONNREFUSED"));
  vi.spyOn(docker, "listContainers").mockResolvedValue([]);
  const warn = vi.fn();
  const watch = watchReleases({ docker, instance: "me", resyncSeconds: 3600, warn });
  try {
    watch.follow();
    // By themselves the tries would take minutes.
    for (let tries = 1; tries <= 12; tries++) {
      await until(() => getEvents.mock.calls.length >= tries, { what: "they were asked for" });
      await watch.list();
    }
    expect(warn).toHaveBeenCalledTimes(1);
  } finally {
    watch.close();
  }
});
