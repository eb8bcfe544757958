import { isDomainError } from "@berth/core";
import type { EnvFields } from "@berth/core/ports";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const env = (fields: Partial<EnvFields> = {}): EnvFields => ({
  key: "PORT",
  value: "3000",
  is_preview: false,
  is_literal: false,
  is_multiline: false,
  is_shown_once: false,
  is_runtime: true,
  is_buildtime: true,
  is_required: false,
  comment: null,
  order: null,
  ...fields,
});

onEachBackend((database) => {
  it("keeps values byte for byte, encrypted", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    const values = [
      "",
      " spaced ",
      "a\nb\r\n\t",
      "naïve canary-value 🚢 ﷽",
      "'\"\\$`{{ x }}",
      "x".repeat(100_000),
      null,
    ];
    for (const [index, value] of values.entries()) {
      await stores.envs.insert(id, testUuid(), env({ key: `K${index}`, value }));
    }
    const { items, total } = await stores.envs.list(id);
    expect(items.map(({ value }) => value)).toEqual(values);
    expect(total).toBe(values.length);
    const { rows } = await sql<{ text: string }>`select encode(value, 'escape') as text from env
      where resource_id = ${id} and key = 'K3'`.execute(database().database.kysely);
    expect(rows[0]?.text).not.toContain("canary-value");
  });

  it("saves many at once: new ones in their order, and those that exist by their uuid", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    const old = await stores.envs.insert(id, testUuid(), env({ key: "OLD", value: null, order: 3 }));
    const wanted = [
      { ...env({ key: "Z", value: "naïve '\"\\ {,} 🚢\n", comment: 'a "b" \\ {,}' }), uuid: testUuid() },
      { ...env({ key: "OLD", value: "", is_literal: true, order: 4 }), uuid: old.uuid },
      { ...env({ key: "A", value: null, is_preview: true, is_runtime: false }), uuid: testUuid() },
      { ...env({ key: "A", value: "x".repeat(100_000), is_shown_once: true }), uuid: testUuid() },
    ];
    const saved = await stores.envs.saveAll(id, wanted);
    expect(new Set(saved.map(({ uuid }) => uuid))).toEqual(new Set(wanted.map(({ uuid }) => uuid)));
    const { items } = await stores.envs.list(id);
    expect(items).toMatchObject([1, 0, 3, 2].map((at) => wanted[at]));
    expect(items[0]).toMatchObject({ id: old.id, created_at: old.created_at });
    expect(await stores.envs.withKeys(id, ["A", "Z", "MISSING"])).toHaveLength(3);
    const taken = [{ ...env({ key: "Z" }), uuid: testUuid() }];
    await expect(stores.envs.saveAll(id, taken)).rejects.toMatchObject({ code: "resource.already_exists" });
    expect(await stores.envs.saveAll(id, [])).toEqual([]);
  });

  it("lists normal ones, then preview ones, each in the order they were made", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    for (const [key, is_preview] of [
      ["B", true],
      ["Z", false],
      ["A", true],
      ["C", false],
    ] as const) {
      await stores.envs.insert(id, testUuid(), env({ key, is_preview }));
    }
    expect((await stores.envs.list(id)).items.map(({ key }) => key)).toEqual(["Z", "C", "B", "A"]);
    expect(await stores.envs.list(id, { skip: 1, take: 1 })).toMatchObject({ items: [{ key: "C" }], total: 4 });
  });

  it("tells the normal variable and its preview twin apart", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    const normal = await stores.envs.insert(id, testUuid(), env());
    // The record of a normal variable is copied: the other one gets its own id and uuid.
    const twin = await stores.envs.insert(id, testUuid(), { ...normal, value: "4000", is_preview: true });
    expect(twin.id).not.toBe(normal.id);
    expect(await stores.envs.findByKey(id, "PORT", false)).toEqual(normal);
    expect(await stores.envs.findByKey(id, "PORT", true)).toEqual(twin);
    expect(await stores.envs.delete(id, twin.uuid)).toBe(true);
    expect(await stores.envs.delete(id, twin.uuid)).toBe(false);
    expect((await stores.envs.list(id)).items).toEqual([normal]);
  });

  it("refuses a key twice, by insert and by update, and continues in the caller's transaction", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    const isTaken = (error: unknown) =>
      isDomainError(error, "resource.already_exists") && error.message.includes("PORT");
    await stores.envs.insert(id, testUuid(), env());
    const { uuid } = await stores.envs.insert(id, testUuid(), env({ key: "HOST" }));
    await stores.transaction(async (tx) => {
      await expect(tx.envs.insert(id, testUuid(), env())).rejects.toSatisfy(isTaken);
      await tx.envs.insert(id, testUuid(), env({ key: "NEXT" }));
    });
    await expect(stores.envs.update(id, uuid, { key: "PORT" })).rejects.toSatisfy(isTaken);
    expect((await stores.envs.list(id)).items.map(({ key }) => key)).toEqual(["PORT", "HOST", "NEXT"]);
  });

  it("changes only the fields that are given", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    const { uuid } = await stores.envs.insert(id, testUuid(), env({ comment: "why", order: 3 }));
    expect(await stores.envs.update(id, uuid, { value: "" })).toMatchObject({ value: "", comment: "why", order: 3 });
    expect(await stores.envs.update(id, uuid, { comment: null, is_literal: true })).toMatchObject({
      value: "",
      comment: null,
      is_literal: true,
    });
    expect(await stores.envs.update(id, uuid, { value: null })).toMatchObject({ value: null });
    expect(await stores.envs.update(id, "unknown", { value: "x" })).toBeUndefined();
  });
});
