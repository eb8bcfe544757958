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

/** Without it, the list would not suffice of any container. */
const PLACE = {
  HostConfig: { NetworkMode: "net" },
  NetworkSettings: { Networks: { net: { IPAddress: "10.0.0.2" } } },
};

test("of a server that is taken in, only containers of which its list says too little are inspected at once", async () => {
  const docker = dockerClient(localHost("here"));
  const statuses: Readonly<Record<string, string>> = {
    ...{
      long: "Up 2 hours",
      checked: "Up 10 minutes (healthy)",
      young: "Up 9 minutes",
      failed: "Up 3 weeks (unhealthy)",
    },
  };
  const stopped = { ...listed("stopped", "Exited (3) 2 hours ago"), State: "exited" };
  const inspections: string[] = [];
  let lists = 0;
  const events = Object.assign(new PassThrough(), { headers: { server: "Docker/28.5.2 (linux)" } });
  vi.spyOn(docker, "ping").mockResolvedValue("OK");
  vi.spyOn(docker, "getEvents").mockResolvedValue(events);
  vi.spyOn(docker, "listContainers").mockImplementation(async () => {
    lists += 1;
    return [...Object.entries(statuses).map(([id, status]) => listed(id, status)), stopped].map((one) => ({
      ...{ ...one, ...PLACE, Labels: { ...one.Labels, [LABELS.deployment]: one.Id, [LABELS.port]: "80" } },
    })) as never;
  });
  vi.spyOn(docker, "getContainer").mockImplementation(
    (id = "") =>
      ({
        inspect: async () => {
          inspections.push(id);
          const State = {
            Status: id === "stopped" ? "exited" : "running",
            ExitCode: 3,
            StartedAt: "2026-01-01T00:00:00Z",
          };
          const health = /\((\w+)\)/.exec(statuses[id] ?? "")?.[1];
          const description = inspected(id, { ...State, ...(health && { Health: { Status: health } }) });
          const labels = { ...LABELS_OF_RELEASE, [LABELS.deployment]: id, [LABELS.port]: "80" };
          const { NetworkSettings } = PLACE;
          return { ...description, NetworkSettings, RestartCount: 5, Config: { Labels: labels } };
        },
      }) as never,
  );
  const watch = watchReleases({ docker, instance: "me", resyncSeconds: 0.02, warn: vi.fn() });
  const reported: string[] = [];
  watch.onChange(({ deploymentUuid }) => reported.push(deploymentUuid));
  const all = [...Object.keys(statuses), "stopped"].toSorted();
  const seen = (uuid: string) => watch.lastSeen()?.find(({ deploymentUuid }) => deploymentUuid === uuid);
  try {
    watch.follow();
    await watch.listParts();
    expect(inspections.toSorted()).toEqual(["failed", "stopped", "young"]);
    const upstream = { host: "10.0.0.2", port: 80 };
    expect(seen("long")).toMatchObject({ state: "running", upstream, isUncounted: true });
    expect(seen("checked")).toMatchObject({ health: "healthy", isUncounted: true });
    expect(seen("stopped")).toMatchObject({ state: "exited", exitCode: 3, restartCount: 5 });
    await until(() => seen("long")?.restartCount === 5 && seen("checked")?.restartCount === 5, {
      what: "the others are inspected too",
    });
    expect(seen("long")).not.toHaveProperty("isUncounted");
    expect(seen("long")?.startedAt).toEqual(new Date("2026-01-01T00:00:00Z"));
    const listsBefore = lists;
    await until(() => lists > listsBefore + 12, { what: "further snapshots are made" });
    // Nothing is reported when an inspection adds what the list lacked.
    expect(reported.toSorted()).toEqual(all);
  } finally {
    watch.close();
  }
});

test.each([undefined, "Libpod/5.0.0 (linux)"])(
  "the list of an engine that is not Docker (%s) is not relied on",
  async (server) => {
    const docker = dockerClient(localHost("here"));
    let inspections = 0;
    const events = Object.assign(new PassThrough(), { headers: { server } });
    vi.spyOn(docker, "ping").mockResolvedValue("OK");
    vi.spyOn(docker, "getEvents").mockResolvedValue(events);
    vi.spyOn(docker, "listContainers").mockImplementation(
      async () => [{ ...listed("one", "Up 2 hours"), ...PLACE }] as never,
    );
    vi.spyOn(docker, "getContainer").mockReturnValue({
      inspect: async () => {
        inspections += 1;
        return inspected("one", { Status: "running" });
      },
    } as never);
    const watch = watchReleases({ docker, instance: "me", resyncSeconds: 60, warn: vi.fn() });
    try {
      watch.follow();
      await watch.listParts();
      expect(inspections).toBe(1);
    } finally {
      watch.close();
    }
  },
);
