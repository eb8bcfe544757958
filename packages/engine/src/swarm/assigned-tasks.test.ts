import { LABELS } from "@berth/docker-client";
import { expect, test } from "vitest";
import type { ReleasePart } from "../docker/state.ts";
import { AssignedTasks } from "./assigned-tasks.ts";
import type { Task } from "./services.ts";

const ref = { resourceUuid: "r1", deploymentUuid: "d1" };
const container = {
  ...{ name: "main", isReplica: true as const, number: 1, state: "running" as const, restartCount: 0, exitCode: null },
  ...{ startedAt: new Date(0), address: "10.0.1.5", port: 3000, isExcluded: false },
};
const part = (change: Partial<ReleasePart> = {}): ReleasePart => ({
  ...{ id: "c1", container, order: 1, isMember: true, run: 0, task: "t1" },
  state: { ...ref, state: "running", upstream: null, restartCount: 0, exitCode: null, startedAt: null },
  ...change,
});
const task = (change: Partial<Task> = {}): Task => ({
  ...{ ID: "t1", DesiredState: "running", Status: { State: "running" } },
  Spec: { ContainerSpec: { Labels: { [LABELS.deployment]: "d1" } } },
  NetworksAttachments: [{ Addresses: ["10.0.1.5/24"] }],
  ...change,
});

function managers(...tasks: readonly Task[]) {
  const asked: string[] = [];
  let given = tasks;
  const assigned = new AssignedTasks({
    async assignedTo(nodeId) {
      asked.push(nodeId);
      return given;
    },
  });
  const give = (...now: readonly Task[]) => {
    given = now;
  };
  return { asked, assigned, give };
}

test("a container is one of the release if the managers gave its node this task, and they are asked once", async () => {
  const { asked, assigned } = managers(task());
  expect(assigned.known("n1", [part()])).toBeUndefined();
  expect(await assigned.of("n1", [part()])).toEqual([part()]);
  expect(await assigned.of("n1", [part()])).toEqual([part()]);
  expect(assigned.known("n1", [part()])).toEqual([part()]);
  expect(asked).toEqual(["n1"]);
});

test("one that ran stays known after the managers have forgotten its task", async () => {
  const { assigned, give } = managers(task());
  await assigned.of("n1", [part()]);
  give();
  assigned.keepOnly("n1", [part()]);
  expect(await assigned.of("n1", [part()])).toEqual([part()]);
});

test.each([
  ["says no task", part({ task: undefined }), task()],
  ["says a task that its node was not given", part({ task: "t2" }), task()],
  [
    "says a task of another release",
    part(),
    task({ Spec: { ContainerSpec: { Labels: { [LABELS.deployment]: "d2" } } } }),
  ],
])("a container that %s is left out", async (_what, reported, given) => {
  const { assigned } = managers(given);
  expect(await assigned.of("n1", [reported])).toEqual([]);
});

test("one that was refused is asked about again after a while", async () => {
  const { asked, assigned, give } = managers();
  expect(await assigned.of("n1", [part()])).toEqual([]);
  give(task());
  expect(await assigned.of("n1", [part()])).toEqual([]);
  assigned.keepOnly("n1", [part()]);
  expect(await assigned.of("n1", [part()])).toEqual([part()]);
  expect(asked).toHaveLength(2);
});

test.each(["127.0.0.1", "169.254.169.254", "10.0.1.6"])(
  "no request goes to %s, which the managers did not give",
  async (address) => {
    const { assigned } = managers(task());
    const [found] = await assigned.of("n1", [part({ container: { ...container, address } })]);
    expect(found?.container.address).toBeNull();
  },
);

test("two nodes do not share what is known of a container", async () => {
  const { asked, assigned } = managers(task());
  await assigned.of("n1", [part()]);
  await assigned.of("n2", [part()]);
  expect(asked).toEqual(["n1", "n2"]);
});
