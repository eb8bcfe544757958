import { RESOURCE_KINDS, type ResourceKind, type ResourceRef } from "@berth/core/resource";
import { testResource } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { outcomes, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

const namesOf = (tags: readonly { readonly name: string }[]) => tags.map(({ name }) => name);

// Its keys are the kinds.
describe.each(Object.keys(RESOURCE_KINDS) as ResourceKind[])("tags of a resource of the kind %s", (kind) => {
  let ref: ResourceRef;
  beforeEach(async () => {
    const { uuid } = await testResource(at.stores, kind, at.place);
    ref = { kind, uuid };
  });

  test("are added to those that are there, made where the team does not know them, and taken away one by one", async () => {
    expect(namesOf(await at.own.tags.attach(ref, { tag_names: [`${kind}-web`, `${kind}-blue`] }))).toEqual([
      `${kind}-blue`,
      `${kind}-web`,
    ]);
    const all = await at.own.tags.attach(ref, { tag_name: `${kind}-blue` });
    expect(namesOf(all)).toEqual([`${kind}-blue`, `${kind}-web`]);
    expect(namesOf((await at.own.tags.list({})).items)).toEqual(expect.arrayContaining(namesOf(all)));
    const blue = all[0]?.uuid ?? "";
    expect(await at.own.tags.detach(ref, blue)).toEqual({ message: "Tag removed." });
    await expect(at.own.tags.detach(ref, blue)).rejects.toThrow("Tag not found.");
    expect(await at.own.tags.listOf(ref, {})).toEqual({ items: [all[1]], total: 1 });
    expect(namesOf((await at.own.tags.list({})).items)).not.toContain(`${kind}-blue`);
  });

  test("[S67] are the team's own", async () => {
    const [tag] = await at.own.tags.attach(ref, { tag_name: "shared name" });
    const { tags } = at.otherTeam.control;
    const asked = [tags.listOf(ref, {}), tags.attach(ref, { tag_name: "blue" }), tags.detach(ref, tag?.uuid ?? "")];
    expect(await outcomes(asked)).toEqual(asked.map(() => `${RESOURCE_KINDS[kind].title} not found.`));
    expect((await tags.list({})).items).toEqual([]);
    expect(namesOf((await at.own.tags.listOf(ref, {})).items)).toEqual(["shared name"]);
  });

  test("need the abilities read and write", async () => {
    const team = at.place.server.team_id;
    const asked = [
      at.as(team, "write").tags.list({}),
      at.as(team, "write").tags.listOf(ref, {}),
      at.as(team, "read").tags.attach(ref, { tag_name: "blue" }),
      at.as(team, "read").tags.detach(ref, "x"),
    ];
    expect(await outcomes(asked)).toEqual(
      ["read", "read", "write", "write"].map((ability) => `Missing required permissions: ${ability}`),
    );
  });
});
