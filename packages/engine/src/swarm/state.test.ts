import type { ReleaseContainer } from "@berth/core/deploy";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ReleasePart } from "../docker/state.ts";
import { RestartCounts } from "./restart-counts.ts";
import { clusterState, type ReleaseService, type StackMember } from "./state.ts";

const ref = { resourceUuid: "r", deploymentUuid: "d" };
const service = (change: Partial<ReleaseService> = {}): ReleaseService => ({
  ...{ ref, replicas: 1, isStopped: false, run: 1 },
  ...change,
});

/** A container of the replica `number` that started at `second`; `null`: not yet. */
function part(number: number, second: number | null, change: Partial<ReleaseContainer> = {}, run = 1): ReleasePart {
  const container: ReleaseContainer = {
    ...{ name: "replica", isReplica: true, number, state: "running", restartCount: 0, exitCode: null },
    startedAt: second === null ? null : new Date(second * 1000),
    ...{ address: `10.0.0.${second ?? 0}`, port: 3000, isExcluded: false },
    ...change,
  };
  const { state, startedAt, exitCode } = container;
  const own = { ...ref, state, startedAt, exitCode, restartCount: 0, upstream: null };
  return { id: "", container, state: own, order: number, isMember: true, run };
}
const ended = (exitCode: number) => ({ state: "exited", exitCode, address: null }) as const;

describe("the state of a release with one container on a swarm", () => {
  test.each<[string, ReleaseService, readonly ReleasePart[], object]>([
    ["waits for its container", service(), [], { state: "created", upstream: null, restartCount: 0 }],
    ["has none after a stop before the start", service({ isStopped: true }), [], { state: "exited" }],
    ["starts", service(), [part(1, null, { state: "created", address: null })], { state: "created" }],
    ["runs", service(), [part(1, 5)], { state: "running", upstream: { host: "10.0.0.5", port: 3000 }, exitCode: null }],
    ["waits after a crash", service(), [part(1, 5, ended(3))], { state: "restarting", restartCount: 1, exitCode: 3 }],
    [
      "starts after a crash",
      service(),
      [part(1, null, { state: "created", address: null }), part(1, 5, ended(3))],
      { state: "restarting", restartCount: 1, exitCode: 3 },
    ],
    [
      "runs after two crashes, whatever the order they are found in",
      service(),
      [part(1, 9), part(1, 5, ended(3)), part(1, 7, ended(4))],
      { state: "running", restartCount: 2, exitCode: 4, upstream: { host: "10.0.0.9", port: 3000 } },
    ],
    [
      "was stopped",
      service({ isStopped: true }),
      [part(1, 5, ended(0))],
      { state: "exited", restartCount: 0, exitCode: 0, upstream: null },
    ],
    [
      "counts no restart for a start by Berth",
      service({ run: 2 }),
      [part(1, 5, ended(0)), part(1, 9, {}, 2)],
      { state: "running", restartCount: 0, exitCode: null },
    ],
  ])("%s", (_title, own, parts, wanted) => {
    const state = clusterState(ref, [own], parts);
    expect(state).toMatchObject({ ...ref, ...wanted });
    expect(state.containers).toBeUndefined();
  });
});

test("a crash and the wait for the next container are one state", () => {
  const crashed = part(1, 5, ended(3));
  const next = part(1, null, { state: "created", address: null });
  expect(clusterState(ref, [service()], [crashed, next])).toEqual(clusterState(ref, [service()], [crashed]));
});

describe("the state of a release with several containers on a swarm", () => {
  const numbers = (own: ReleaseService, parts: readonly ReleasePart[]) =>
    clusterState(ref, [own], parts).containers?.map(({ number, state }) => `${number} ${state}`);

  test("has one for each replica, the missing ones too", () => {
    expect(numbers(service({ replicas: 3 }), [part(2, 5)])).toEqual(["1 created", "2 running", "3 created"]);
  });

  test("has those that the swarm left, whatever their numbers", () => {
    expect(numbers(service({ replicas: 2 }), [part(1, 5), part(4, 6), part(2, 3, ended(0))])).toEqual([
      "1 running",
      "4 running",
    ]);
  });

  test("has those that are still to be removed", () => {
    expect(numbers(service({ replicas: 1 }), [part(1, 5), part(2, 6)])).toEqual(["1 running", "2 running"]);
  });

  test("has at least as many as it should, each number once, and routes to those that run alone", () => {
    const parts = fc.array(
      fc
        .record({ number: fc.integer({ min: 1, max: 6 }), second: fc.integer({ min: 1, max: 50 }), runs: fc.boolean() })
        .map(({ number, second, runs }) => part(number, second, runs ? {} : ended(1))),
    );
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 5 }), parts, (replicas, found) => {
        const { containers = [] } = clusterState(ref, [service({ replicas })], found);
        expect(containers.length).toBeGreaterThanOrEqual(replicas);
        expect(new Set(containers.map(({ number }) => number)).size).toBe(containers.length);
        for (const { address, state } of containers) expect(address !== null).toBe(state === "running");
      }),
    );
  });
});

test("restarts are counted beyond what the swarm keeps, and anew after a start by Berth", () => {
  const counts = new RestartCounts();
  const count = (run: number, ...startsMs: number[]) => counts.of("d")("1", run, startsMs);
  expect(count(1, 10, 20)).toBe(2);
  expect(count(1, 10, 20)).toBe(2);
  expect(count(1, 20, 30, 40)).toBe(4);
  expect(count(1)).toBe(4);
  expect(count(2)).toBe(0);
  expect(count(2, 50)).toBe(1);
  counts.forget("d");
  expect(count(2, 50)).toBe(1);
});

describe("the state of a compose file's containers on a swarm", () => {
  const member = (name: string, order: number, change: Partial<StackMember> = {}): ReleaseService =>
    service({
      member: {
        ...{ name, order, isNumbered: false, isExcluded: false, port: null, restarts: "always" as const },
        ...change,
      },
      ...(change.isNumbered === true ? { replicas: 2 } : {}),
    });
  const partOfMember = (name: string, second: number | null, change: Partial<ReleaseContainer> = {}): ReleasePart => {
    const { container, ...rest } = part(1, second);
    const { isReplica: _i, number: _n, ...own } = container;
    return { ...rest, container: { ...own, name, ...change } };
  };
  const shown = (services: readonly ReleaseService[], parts: readonly ReleasePart[]) =>
    clusterState(ref, services, parts).containers?.map(
      ({ name, number, state, restartCount }) => `${name}${number ?? ""} ${state} ${restartCount}`,
    );

  test("has one of each in the order of the file, and as many numbers as there are replicas", () => {
    const services = [member("db", 1), member("web", 0, { isNumbered: true })];
    const parts = [partOfMember("web", 5, { number: 2 }), partOfMember("db", 4)];
    expect(shown(services, parts)).toEqual(["web1 created 0", "web2 running 0", "db running 0"]);
  });

  test("is the newest of a container that was moved or restarted, and counts those before", () => {
    const parts = [partOfMember("web", 5, ended(1)), partOfMember("web", 9), partOfMember("db", 4)];
    expect(shown([member("web", 0), member("db", 1)], parts)).toEqual(["web running 1", "db running 0"]);
  });

  test("knows that one which runs once is over, and that one which failed is tried again if it should be", () => {
    const job = (restarts: StackMember["restarts"], exitCode: number) =>
      shown([member("job", 0, { restarts })], [partOfMember("job", 5, ended(exitCode))]);
    expect(job("never", 1)).toEqual(["job exited 0"]);
    expect(job("on-failure", 0)).toEqual(["job exited 0"]);
    expect(job("on-failure", 1)).toEqual(["job restarting 1"]);
    expect(job("always", 0)).toEqual(["job restarting 1"]);
  });

  test("says which was stopped although it should run, so that it is started again when its successor fails", () => {
    const stopped = (restarts: StackMember["restarts"]) => ({ ...member("db", 1, { restarts }), isStopped: true });
    const isStopped = (...services: readonly ReleaseService[]) =>
      clusterState(ref, services, [partOfMember("web", 5), partOfMember("db", 4, ended(0))]).containers?.map(
        (one) => one.isStopped === true,
      );
    expect(isStopped(member("web", 0), stopped("always"))).toEqual([false, true]);
    expect(isStopped(member("web", 0), stopped("never"))).toEqual([false, false]);
    expect(isStopped(member("web", 0), member("db", 1))).toEqual([false, false]);
    // Its node was lost with its container.
    expect(clusterState(ref, [stopped("always")], []).containers).toMatchObject([{ state: "exited", isStopped: true }]);
  });

  test("takes requests at the first with a port, and does not mistake one for that of another name", () => {
    const services = [member("a", 0), member("replica", 1, { port: 3000 })];
    const state = clusterState(ref, services, [partOfMember("a", 1, { port: null }), partOfMember("replica", 2)]);
    expect(state).toMatchObject({ state: "running", upstream: { host: "10.0.0.2", port: 3000 } });
  });

  test("counts the restarts of each by itself", () => {
    const counts = new RestartCounts().of("d");
    const services = [member("a", 0), member("b", 1)];
    const look = (parts: readonly ReleasePart[]) =>
      clusterState(ref, services, parts, counts).containers?.map(({ restartCount }) => restartCount);
    expect(look([partOfMember("a", 1, ended(1)), partOfMember("a", 2), partOfMember("b", 1)])).toEqual([1, 0]);
    expect(look([partOfMember("a", 2), partOfMember("b", 1)])).toEqual([1, 0]);
  });
});
