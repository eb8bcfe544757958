import type { ReleaseContainer, ReleaseState } from "@berth/core/deploy";
import { describe, expect, test } from "vitest";
import type { NamedNode } from "./nodes.ts";
import { placementProblem, SteadyNodes } from "./placement-problem.ts";
import type { FoundService } from "./services.ts";

const node = (id: string, change: Partial<NamedNode> = {}): NamedNode => ({
  ...{ id, name: `server ${id}`, hostname: `host-${id}`, isManager: true, isReady: true, isUnknown: false },
  ...{ isActive: true, labels: {}, engineLabels: {}, os: "linux", architecture: "x86_64" },
  ...change,
});
const holder = (change: Partial<NamedNode>) => node("b", { labels: { "berth.storage.s1": "here" }, ...change });

// Has only the fields that are read.
const service = (name: string | undefined, pins: readonly string[], change: object = {}) =>
  ({
    ...(name === undefined ? {} : { member: { name, isExcluded: false } }),
    isStopped: false,
    spec: { TaskTemplate: { Placement: { Constraints: pins } } },
    ...change,
  }) as unknown as FoundService;
const PIN = "node.labels.berth.storage.s1==here";

const release = (state: ReleaseState["state"], containers?: readonly Partial<ReleaseContainer>[]) =>
  ({ state, ...(containers && { containers }) }) as ReleaseState;

const DOWN = [node("a"), holder({ isReady: false })];

describe("the data of a release", () => {
  test.each<[string, ReleaseState["state"], readonly NamedNode[], RegExp | undefined]>([
    ["on a node that is down", "created", DOWN, /^Its data is on node server b, which is down\. Start the node/],
    ["on a node that is drained", "restarting", [holder({ isActive: false })], /drained or paused.* activate b$/],
    ["on a node with a plain name", "created", [holder({ isActive: false, name: "n-2" })], /activate n-2$/],
    ["on a node that is well", "created", [node("a", { isReady: false }), holder({})], undefined],
    ["of what runs", "running", DOWN, undefined],
    ["of what has ended", "exited", DOWN, undefined],
  ])("%s", (_title, state, nodes, problem) => {
    const found = placementProblem(release(state), [service(undefined, [PIN])], nodes);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  test("is on a node that no longer fulfils the conditions of its resource", () => {
    const zoned = [service(undefined, ["node.labels.zone==a", "node.labels.berth.ready.x==yes", "node.id!=z", PIN])];
    const labels = { "berth.storage.s1": "here" };
    expect(placementProblem(release("created"), zoned, [node("a"), node("b", { labels })])).toBe(
      "Its data is on node server b, which does not fulfil node.labels.zone==a. Change the condition, or the labels of that node.",
    );
    const fulfilling = node("b", { labels: { ...labels, zone: "a" } });
    expect(placementProblem(release("created"), zoned, [node("a"), fulfilling])).toBeUndefined();
  });

  test("explains only containers that need it, run and count", () => {
    const waiting = release("created", [
      { name: "db", state: "running" },
      { name: "web", state: "restarting" },
    ]);
    const [db, web] = [service("db", [PIN]), service("web", [])];
    expect(placementProblem(waiting, [db, web], DOWN)).toBeUndefined();
    expect(placementProblem(waiting, [db, service("web", [PIN])], DOWN)).toMatch(/which is down/);
    expect(placementProblem(waiting, [db, service("web", [PIN], { isStopped: true })], DOWN)).toBeUndefined();
    const excluded = service("web", [PIN], { member: { name: "web", isExcluded: true } });
    expect(placementProblem(waiting, [db, excluded], DOWN)).toBeUndefined();
    expect(placementProblem(release("created"), [service(undefined, [])], DOWN)).toBeUndefined();
  });
});

test("a container without data waits for any node that accepts it", () => {
  const problemOn = (...nodes: readonly NamedNode[]) =>
    placementProblem(release("created"), [service(undefined, ["node.labels.zone==a"])], nodes);
  const zoned = { labels: { zone: "a" } };
  expect(problemOn(node("a"), node("b", { ...zoned, isActive: false }))).toMatch(
    /^No node of the cluster accepts it\./,
  );
  expect(problemOn(node("a", { ...zoned, isReady: false }))).toMatch(/^No node of the cluster accepts it\./);
  expect(problemOn(node("a"), node("b", zoned))).toBeUndefined();
  expect(problemOn()).toBeUndefined();
});

describe("a node that is lost", () => {
  const isShownLost = (nodes: SteadyNodes, nowMs: number) => nodes.at(nowMs).some(({ isReady }) => !isReady);

  test("is shown as lost after a while, and as ready as soon as it is back", () => {
    const nodes = new SteadyNodes(15);
    nodes.record([node("a"), holder({})], 0);
    nodes.record(DOWN, 1_000);
    nodes.record(DOWN, 10_000);
    expect([isShownLost(nodes, 10_000), isShownLost(nodes, 16_000)]).toEqual([false, true]);
    nodes.record([node("a"), holder({})], 17_000);
    expect(isShownLost(nodes, 17_000)).toBe(false);
    nodes.record(DOWN, 18_000);
    expect(isShownLost(nodes, 18_000)).toBe(false);
  });

  test("is shown at once where it was lost at the first look", () => {
    const nodes = new SteadyNodes(15);
    expect(nodes.at(0)).toEqual([]);
    nodes.record(DOWN, 0);
    expect(isShownLost(nodes, 0)).toBe(true);
  });
});
