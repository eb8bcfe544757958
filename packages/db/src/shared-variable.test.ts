import { isDomainError } from "@berth/core";
import { SHARED_SCOPES } from "@berth/core/env";
import type { SharedVariableFields, SharedVariableOwner } from "@berth/core/ports";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const fields = (key: string, value: string | null): SharedVariableFields => ({
  key,
  value,
  is_multiline: false,
  is_shown_once: false,
  comment: null,
});

onEachBackend((database) => {
  async function owners() {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const app = await testApplication(stores, place);
    const all: readonly SharedVariableOwner[] = [
      { scope: "team", id: (await stores.teams.current())?.id ?? -1 },
      { scope: "project", id: place.project.id },
      { scope: "environment", id: place.environment.id },
      { scope: "server", id: place.server.id },
    ];
    return { stores, place, app, all };
  }
  const keysOf = (key: string) => SHARED_SCOPES.map((scope) => ({ scope, key }));

  it("keeps values of each scope byte for byte, encrypted, and shows a resource its own alone", async () => {
    const { stores, app, all } = await owners();
    const other = await owners();
    for (const owner of all) {
      const value = `canary ${owner.scope} \n'"$ 🚢`;
      const made = await stores.sharedVariables.insert(owner, testUuid(), fields("A", value));
      expect(made).toMatchObject({ key: "A", value });
      expect(await stores.sharedVariables.list(owner)).toMatchObject({ items: [{ value }], total: 1 });
      expect(await stores.sharedVariables.findByKey(owner, "A")).toEqual(made);
      const { rows } = await sql<{ text: string }>`select encode(value, 'escape') as text
        from ${sql.table(`${owner.scope}_variable`)} where uuid = ${made.uuid}`.execute(database().database.kysely);
      expect(rows[0]?.text).not.toContain("canary");
    }
    const seen = await stores.sharedVariables.seenBy([app.id], [...keysOf("A"), ...keysOf("B")]);
    expect(new Map(seen.map(({ scope, value }) => [scope, value]))).toEqual(
      new Map(SHARED_SCOPES.map((scope) => [scope, `canary ${scope} \n'"$ 🚢`])),
    );
    expect(await stores.sharedVariables.seenBy([app.id], [])).toEqual([]);
    expect(await other.stores.sharedVariables.seenBy([other.app.id, app.id], keysOf("A"))).toEqual([]);
  });

  it("saves many at once: new ones in their order, and those that exist by their uuid", async () => {
    const { stores, all } = await owners();
    for (const owner of all) {
      const old = await stores.sharedVariables.insert(owner, testUuid(), fields("OLD", null));
      const wanted = [
        { ...fields("Z", "naïve '\"\\ {,} 🚢\n"), comment: 'a "b" \\ {,}', uuid: testUuid() },
        { ...fields("OLD", ""), is_multiline: true, uuid: old.uuid },
        { ...fields("A", null), is_shown_once: true, uuid: testUuid() },
      ];
      const saved = await stores.sharedVariables.saveAll(owner, wanted);
      expect(new Set(saved.map(({ uuid }) => uuid))).toEqual(new Set(wanted.map(({ uuid }) => uuid)));
      const { items } = await stores.sharedVariables.list(owner);
      expect(items).toMatchObject([1, 0, 2].map((at) => wanted[at]));
      expect(items[0]).toMatchObject({ id: old.id, created_at: old.created_at });
      expect(await stores.sharedVariables.withKeys(owner, ["A", "Z", "MISSING"])).toHaveLength(2);
    }
  });

  it("takes a key once with an owner, and changes only what is sent", async () => {
    const { stores, all } = await owners();
    for (const owner of all) {
      const { uuid } = await stores.sharedVariables.insert(owner, testUuid(), fields("A", "1"));
      const again = stores.sharedVariables.insert(owner, testUuid(), fields("A", "2"));
      await expect(again).rejects.toSatisfy((error) => isDomainError(error, "resource.already_exists"));
      expect(await stores.sharedVariables.update(owner, uuid, { comment: "c" })).toMatchObject({ value: "1" });
      expect(await stores.sharedVariables.update(owner, uuid, { value: null })).toMatchObject({
        comment: "c",
        value: null,
      });
      expect(await stores.sharedVariables.delete(owner, uuid)).toBe(true);
      expect(await stores.sharedVariables.delete(owner, uuid)).toBe(false);
    }
  });

  it("goes with its owner", async () => {
    const stores = await testTeam(database());
    const project = await stores.projects.insert({ uuid: testUuid(), name: "p", description: null });
    const owner = { scope: "project", id: project.id } as const;
    await stores.sharedVariables.insert(owner, testUuid(), fields("A", "1"));
    expect(await stores.sharedVariables.alone(owner)).toBe(true);
    await stores.projects.deleteIfEmpty(project.uuid);
    expect(await stores.sharedVariables.alone(owner)).toBe(false);
    const { rows } = await sql<{ id: number }>`select id from project_variable where owner_id = ${project.id}`.execute(
      database().database.kysely,
    );
    expect(rows).toEqual([]);
  });
});
