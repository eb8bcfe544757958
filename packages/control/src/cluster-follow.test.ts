import type { SeenClusterNode } from "@berth/core/ports";
import { printingEngine, testCluster, testPrivateKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type World, world } from "./world.fixture.ts";

let at: World;
let uuid: string;
let nodes: readonly SeenClusterNode[] = [];
let reads = 0;
let wake = () => {};

beforeAll(async () => {
  const own = testCluster("head");
  nodes = await own.nodes();
  const cluster = {
    ...own,
    nodes: async () => {
      reads += 1;
      return nodes;
    },
    changed: (signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        wake = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      }),
  };
  at = await world({ engineFor: () => ({ ...printingEngine({ replicas: true }), cluster }) });
  const { uuid: private_key_uuid } = await testPrivateKey(at.stores);
  ({ uuid } = await at.own.servers.create({ name: "head", ip: `${testUuid()}.example`, private_key_uuid }));
});
afterAll(() => at.db.close());

const leaving = (count: number) => nodes.map((node) => ({ ...node, leaving: count }));

test("the nodes of a cluster are sent when they have changed, and read again only after an event or while a node empties", async () => {
  const abort = new AbortController();
  const followed = (await at.own.clusterNodes.follow(uuid, abort.signal))[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await followed.next();
    return done ? undefined : value.map(({ containers_leaving }) => containers_leaving);
  };
  expect(await next()).toEqual([0]);
  const beginning = next();
  nodes = leaving(2);
  await expect.poll(() => reads).toBe(1);
  wake();
  expect(await beginning).toEqual([2]);
  // Tasks that end have no event.
  const ending = next();
  nodes = leaving(0);
  expect(await ending).toEqual([0]);
  const before = reads;
  const over = next();
  // What changed nothing is not sent.
  const woken = () => {
    wake();
    return reads;
  };
  await expect.poll(woken).toBeGreaterThan(before);
  abort.abort();
  expect(await over).toBeUndefined();
});

test("following the nodes of an unknown server is refused before anything is sent", async () => {
  const { signal } = new AbortController();
  await expect(at.own.clusterNodes.follow(testUuid(), signal)).rejects.toMatchObject({ code: "resource.not_found" });
});
