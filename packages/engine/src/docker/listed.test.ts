import type { ContainerInfo } from "dockerode";
import { expect, test } from "vitest";
import { describedInList, isOfDocker } from "./listed.ts";

const listed = (Status: string, more: object = {}): ContainerInfo =>
  ({
    ...{ Id: "id", Names: ["/name"], Labels: {}, State: "running", Status },
    ...{ HostConfig: { NetworkMode: "net" }, NetworkSettings: { Networks: {} } },
    ...more,
  }) as unknown as ContainerInfo; // Only what is read.

test.each([
  ["Up 10 minutes", {}],
  ["Up About an hour", {}],
  ["Up 3 hours (healthy)", { Health: { Status: "healthy" } }],
  ["Up 2 days (health: starting)", { Health: { Status: "starting" } }],
  ["Up 5 weeks", {}],
  ["Up 2 years", {}],
])("the list suffices for one that is %s", (status, health) => {
  const State = { Status: "running", ExitCode: 0, StartedAt: "", ...health };
  expect(describedInList(listed(status), "/name")).toMatchObject({ Id: "id", Name: "/name", State, isUncounted: true });
});

test.each([
  "Up Less than a second",
  "Up 59 seconds",
  "Up About a minute",
  "Up 9 minutes",
  "Up 3 hours (unhealthy)",
  "Up 3 hours (Paused)",
  "Exited (0) 3 hours ago",
  "",
])("one that is %j is inspected", (status) => {
  expect(describedInList(listed(status), "/name")).toBeUndefined();
});

test("one is inspected that does not run, or whose network the list does not say", () => {
  expect(describedInList(listed("Up 3 hours", { State: "paused" }), "/name")).toBeUndefined();
  expect(describedInList(listed("Up 3 hours", { HostConfig: {} }), "/name")).toBeUndefined();
  expect(describedInList(listed("Up 3 hours", { NetworkSettings: undefined }), "/name")).toBeUndefined();
});

test("an engine is Docker by what it says of itself", () => {
  expect(isOfDocker({ server: "Docker/28.5.2 (linux)" })).toBe(true);
  for (const headers of [undefined, {}, { server: "Libpod/5.4.0 (linux)" }, { server: "nginx Docker/1" }])
    expect(isOfDocker(headers)).toBe(false);
});
