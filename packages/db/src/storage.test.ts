import { isDomainError } from "@berth/core";
import type { StorageFields } from "@berth/core/ports";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const volume: StorageFields = {
  type: "persistent",
  name: "data",
  mount_path: "/data",
  host_path: null,
  fs_path: null,
  content: null,
  is_directory: false,
  is_preview_suffix_enabled: true,
  container: null,
  is_managed: false,
  is_read_only: false,
};

onEachBackend((database) => {
  it("keeps volumes and files, and the content of files encrypted", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    const file = { ...volume, type: "file" as const, name: null, mount_path: "/etc/app.conf", content: "key=geheim\n" };
    const made = [
      await stores.storages.insert(id, testUuid(), volume),
      await stores.storages.insert(id, testUuid(), file),
    ];
    expect((await stores.storages.list(id)).items).toEqual(made);
    expect(made[1]).toMatchObject(file);
    expect(await stores.storages.find(id, { id: made[1]?.id ?? 0 })).toEqual(made[1]);
    const { rows } = await sql<{ text: string }>`select encode(content, 'escape') as text from storage
      where resource_id = ${id} and content is not null`.execute(database().database.kysely);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.text).not.toContain("geheim");
  });

  it("finds the resources that storages belong to", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [first, second] = [await testApplication(stores, place), await testApplication(stores, place)];
    const [a, b] = [testUuid(), testUuid()];
    await stores.storages.insert(first.id, a, volume);
    await stores.storages.insert(second.id, b, volume);
    const owners = await stores.storages.ownersAmong([a, b, a, "unknown"]);
    expect([...owners].toSorted()).toEqual(
      [
        [a, first.uuid],
        [b, second.uuid],
      ].toSorted(),
    );
    expect(await stores.storages.ownersAmong([])).toEqual(new Map());
  });

  it("changes only the fields that are given and deletes once", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    const { uuid } = await stores.storages.insert(id, testUuid(), { ...volume, content: "old" });
    expect(await stores.storages.update(id, uuid, { mount_path: "/srv" })).toMatchObject({
      mount_path: "/srv",
      name: "data",
      content: "old",
    });
    expect(await stores.storages.update(id, uuid, { content: null })).toMatchObject({ content: null });
    expect(await stores.storages.update(id, "unknown", { name: "x" })).toBeUndefined();
    expect(await stores.storages.delete(id, uuid)).toBe(true);
    expect(await stores.storages.delete(id, uuid)).toBe(false);
    expect(await stores.storages.find(id, { uuid })).toBeUndefined();
  });

  it("lists persistent ones, then files, page by page", async () => {
    const stores = await testTeam(database());
    const { id } = await testApplication(stores, await testPlace(stores));
    for (const [type, mount_path] of [
      ["file", "/a"],
      ["persistent", "/b"],
      ["file", "/c"],
      ["persistent", "/d"],
    ] as const) {
      await stores.storages.insert(id, testUuid(), { ...volume, type, mount_path });
    }
    const paths = async (paging = {}) => {
      const { items, total } = await stores.storages.list(id, paging);
      return [items.map(({ mount_path }) => mount_path), total];
    };
    expect(await paths()).toEqual([["/b", "/d", "/a", "/c"], 4]);
    expect(await paths({ skip: 1, take: 2 })).toEqual([["/d", "/a"], 4]);
  });

  it("mounts one storage at a path of a container, and continues in the caller's transaction", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id } = await testApplication(stores, place);
    const isTaken = (error: unknown) =>
      isDomainError(error, "resource.already_exists") && error.message.includes("/data");
    await stores.storages.insert(id, testUuid(), volume);
    const inWeb = await stores.storages.insert(id, testUuid(), { ...volume, container: "web" });
    await stores.transaction(async (tx) => {
      await expect(tx.storages.insert(id, testUuid(), volume)).rejects.toSatisfy(isTaken);
      await tx.storages.insert(id, testUuid(), { ...volume, mount_path: "/next" });
    });
    await expect(stores.storages.update(id, inWeb.uuid, { container: null, mount_path: "/data" })).rejects.toSatisfy(
      isTaken,
    );
    const other = await testApplication(stores, place);
    await stores.storages.insert(other.id, testUuid(), volume);
    expect((await stores.storages.list(id)).total).toBe(3);
  });
});
