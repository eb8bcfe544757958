import { BACKENDS } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, outcomes, type World, world } from "./world.fixture.ts";

/** How often each outcome occurred. */
function counted(results: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const result of results) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}

describe.each(BACKENDS)("many requests at once on %s", (backend) => {
  let at: World;
  beforeAll(async () => {
    at = await world({ backend });
  });
  afterAll(() => at.db.close());

  const many = <T>(count: number, ask: (n: number) => Promise<T>) => Array.from({ length: count }, (_, n) => ask(n));

  test("give a domain that all claim to exactly one, and leave nothing of the others", async () => {
    const claim = (n: number) =>
      at.own.applications.createPublic(gitApplication(at, { name: `claim-${n}`, domains: "https://one.example.com" }));
    const results = await outcomes(many(10, claim));
    expect(results.filter((result) => result === "done")).toHaveLength(1);
    expect(results.filter((result) => result.includes("Domain conflicts detected"))).toHaveLength(9);
    const { items } = await at.own.applications.list({});
    expect(items.filter(({ name }) => name.startsWith("claim-"))).toHaveLength(1);
  });

  test("make an environment of one name once", async () => {
    const { project_uuid } = at.where;
    const results = await outcomes(many(10, () => at.own.environments.create(project_uuid, { name: "staging" })));
    expect(counted(results)).toEqual({ done: 1, "Environment with this name already exists.": 9 });
  });

  test("change variables in bulk one after the other: none is half another's, and none is refused", async () => {
    const { uuid } = await at.own.applications.createPublic(gitApplication(at));
    const keys = Array.from({ length: 20 }, (_, n) => `KEY_${n}`);
    const bulk = (n: number) =>
      at.own.envs.updateBulk(
        { kind: "application", uuid },
        // In opposite orders, which could deadlock.
        { data: (n % 2 === 0 ? keys : keys.toReversed()).map((key) => ({ key, value: `of ${n}` })) },
      );
    expect(counted(await outcomes(many(10, bulk)))).toEqual({ done: 10 });
    const { items } = await at.own.envs.list({ kind: "application", uuid }, {});
    const normal = items.filter(({ is_preview }) => !is_preview);
    expect(normal.map(({ key }) => key).sort()).toEqual(keys.toSorted());
    expect(new Set(items.map(({ value }) => value)).size).toBe(1);
  });

  test("delete an application while deployments of it are asked for: what was queued is cancelled, the rest refused", async () => {
    const { uuid } = await at.own.applications.createPublic(gitApplication(at));
    const ref = { kind: "application", uuid } as const;
    const deploys = many(5, () => at.own.lifecycle.restart(ref));
    const deletes = many(3, () => at.own.lifecycle.delete(ref, {}));
    const results = await Promise.allSettled([...deploys, ...deletes]);
    expect(results.slice(5).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    // No worker runs: whatever is left would be deployed by the next one.
    expect((await at.own.deployments.listActive({})).total).toBe(0);
    await expect(at.own.lifecycle.restart(ref)).rejects.toMatchObject({ name: "DomainError" });
  });
});
