import { PassThrough } from "node:stream";
import { dockerClient, LABELS, RELEASE_ROLE } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { until } from "@berth/testing";
import { expect, test, vi } from "vitest";
import { watchReleases } from "./watch.ts";

const LABELS_OF_RELEASE = {
  [LABELS.managed]: "true",
  [LABELS.instance]: "me",
  [LABELS.role]: RELEASE_ROLE,
  [LABELS.resource]: "resource",
  [LABELS.deployment]: "deployment",
};

const inspected = (Id: string, State: object) => ({
  ...{ Id, Name: `/${Id}`, RestartCount: 0, Config: { Labels: LABELS_OF_RELEASE }, State },
  ...{ HostConfig: {}, NetworkSettings: { Networks: {} } },
});

const listed = (Id: string, Status = "Up 1 second") => ({
  ...{ Id, Labels: LABELS_OF_RELEASE, Names: [`/${Id}`], State: "running", Status },
});

test("a full snapshot inspects the containers of which the list says something else", async () => {
  const docker = dockerClient(localHost("here"));
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
    return [listed("one", status)] as never;
  });
  vi.spyOn(docker, "getContainer").mockReturnValue({
    inspect: async () => {
      inspections += 1;
      return inspected("one", state());
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

test("the containers of an engine are inspected four at a time", async () => {
  const docker = dockerClient(localHost("here"));
  const ids = Array.from({ length: 20 }, (_, at) => `container-${at}`);
  let [now, most] = [0, 0];
  vi.spyOn(docker, "listContainers").mockImplementation(async () => ids.map((id) => listed(id)) as never);
  vi.spyOn(docker, "getContainer").mockImplementation(
    (id) =>
      ({
        inspect: async () => {
          now += 1;
          most = Math.max(most, now);
          await new Promise(setImmediate);
          now -= 1;
          return inspected(id, { Status: "running" });
        },
      }) as never,
  );
  const watch = watchReleases({ docker, instance: "me", resyncSeconds: 60, warn: vi.fn() });
  expect(await watch.listParts()).toHaveLength(ids.length);
  expect(most).toBe(4);
  watch.close();
});

test("what runs is known from events, and inspected only where they are not followed", async () => {
  const docker = dockerClient(localHost("here"));
  let inspections = 0;
  vi.spyOn(docker, "getEvents").mockImplementation(async () => new PassThrough());
  vi.spyOn(docker, "listContainers").mockImplementation(async () => [listed("one")] as never);
  vi.spyOn(docker, "getContainer").mockReturnValue({
    inspect: async () => {
      inspections += 1;
      return inspected("one", { Status: "running" });
    },
  } as never);
  const watch = watchReleases({ docker, instance: "me", resyncSeconds: 60, warn: vi.fn() });
  const ref = { resourceUuid: "resource", deploymentUuid: "deployment" };
  try {
    expect(await watch.runningIds(ref)).toEqual(["one"]);
    expect(inspections).toBeGreaterThan(0);
    watch.follow();
    await until(() => watch.lastSeen() !== undefined, { what: "the events are followed" });
    inspections = 0;
    expect(await watch.runningIds(ref)).toEqual(["one"]);
    expect(inspections).toBe(0);
    expect(await watch.runningIds({ ...ref, resourceUuid: "other" })).toEqual([]);
  } finally {
    watch.close();
  }
});

test("all who ask at once for what runs share the snapshot that is made when the events are connected", async () => {
  const docker = dockerClient(localHost("here"));
  const ids = Array.from({ length: 5 }, (_, at) => `container-${at}`);
  const inspections: string[] = [];
  const connected = Promise.withResolvers<PassThrough>();
  vi.spyOn(docker, "ping").mockResolvedValue("OK");
  vi.spyOn(docker, "getEvents").mockImplementation(() => connected.promise);
  vi.spyOn(docker, "listContainers").mockImplementation(async () => ids.map((id) => listed(id)) as never);
  vi.spyOn(docker, "getContainer").mockImplementation(
    (id) =>
      ({
        inspect: async () => {
          inspections.push(id);
          return inspected(id, { Status: "running" });
        },
      }) as never,
  );
  const watch = watchReleases({ docker, instance: "me", resyncSeconds: 60, warn: vi.fn() });
  try {
    watch.follow();
    const ref = { resourceUuid: "resource", deploymentUuid: "deployment" };
    const asked = [watch.listParts(), watch.listParts(), watch.runningIds(ref)];
    connected.resolve(new PassThrough());
    const [one, other, running] = await Promise.all(asked);
    expect(one).toHaveLength(ids.length);
    expect(other).toEqual(one);
    expect(running).toEqual(ids);
    expect(inspections.toSorted()).toEqual(ids);
  } finally {
    watch.close();
  }
});

test("an engine that does not connect its event stream is asked for what runs nevertheless", async () => {
  const docker = dockerClient(localHost("here"));
  vi.spyOn(docker, "ping").mockResolvedValue("OK");
  vi.spyOn(docker, "getEvents").mockImplementation(() => new Promise(() => {}));
  vi.spyOn(docker, "listContainers").mockImplementation(async () => [listed("one")] as never);
  vi.spyOn(docker, "getContainer").mockReturnValue({
    inspect: async () => inspected("one", { Status: "running" }),
  } as never);
  const watch = watchReleases({ docker, instance: "me", resyncSeconds: 60, warn: vi.fn() });
  try {
    watch.follow();
    expect(await watch.listParts()).toHaveLength(1);
    expect(watch.lastSeen()).toBeUndefined();
  } finally {
    watch.close();
  }
});
