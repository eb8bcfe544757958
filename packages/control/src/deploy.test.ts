import type { Stores } from "@berth/core/ports";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
/** How many applications with their settings each statement answered. */
const answered: number[] = [];
beforeAll(async () => {
  // The world's database is open only after its use cases exist.
  const later = (teamId: number) =>
    new Proxy({} as Stores, { get: (_, name) => Reflect.get(counting(at.db.stores(teamId)), name) });
  at = await world({ stores: ({ teamId }) => later(teamId) });
});
afterAll(() => at.db.close());

function counting(stores: Stores): Stores {
  const transaction: Stores["transaction"] = (work) => stores.transaction((tx) => work(counting(tx)));
  const applications: Stores["applications"] = {
    ...stores.applications,
    async list(...given) {
      const page = await stores.applications.list(...given);
      answered.push(page.items.length);
      return page;
    },
    async find(uuid) {
      answered.push(1);
      return await stores.applications.find(uuid);
    },
  };
  return Object.create(stores, { transaction: { value: transaction }, applications: { value: applications } });
}

test.each(["uuid", "tag"] as const)("a deployment of many by %s reads one at a time with its settings", async (by) => {
  const uuids: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { uuid } = await at.own.applications.createPublic(gitApplication(at));
    await at.own.tags.attach({ kind: "application", uuid }, { tag_name: `together by ${by}` });
    uuids.push(uuid);
  }
  answered.length = 0;
  const { deployments, details } = await at.own.deploy(
    by === "uuid" ? { uuid: uuids.join(",") } : { tag: "together by tag" },
  );
  expect((deployments ?? details ?? []).map((one) => one.resource_uuid)).toEqual(uuids);
  expect(answered).toEqual([1, 1, 1]);
});
