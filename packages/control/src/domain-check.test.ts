import { afterAll, beforeAll, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

const created = async (fields: object) => (await at.own.applications.createPublic(gitApplication(at, fields))).uuid;

test("each URL of an application is checked, a page at a time", async () => {
  const uuid = await created({ domains: "https://one.example,http://two.example/x" });
  const { items, total } = await at.own.domainChecks.list(uuid, {});
  expect(total).toBe(2);
  expect(items.map(({ url, addresses }) => [new URL(url).hostname, addresses])).toEqual([
    ["one.example", ["203.0.113.7"]],
    ["two.example", ["203.0.113.7"]],
  ]);
  // Only https has a certificate.
  expect(items.map(({ certificate }) => certificate?.issuer)).toEqual(["Test authority", undefined]);
  const { items: second } = await at.own.domainChecks.list(uuid, { skip: 1, take: 1 });
  expect(second.map(({ url }) => new URL(url).hostname)).toEqual(["two.example"]);
});

test("an application without URLs has nothing to check, and one of another team is not found", async () => {
  const uuid = await created({ autogenerate_domain: false });
  expect(await at.own.domainChecks.list(uuid, {})).toEqual({ items: [], total: 0 });
  await expect(at.otherTeam.control.domainChecks.list(uuid, {})).rejects.toMatchObject({ code: "resource.not_found" });
});
