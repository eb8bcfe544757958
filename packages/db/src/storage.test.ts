import type { StorageFields } from "@berth/core";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const volume: StorageFields = {
  type: "persistent",
  name: "data",
  mount_path: "/data",
  host_path: null,
  content: null,
  is_directory: false,
  is_preview_suffix_enabled: true,
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
    expect(await stores.storages.list(id)).toEqual(made);
    expect(made[1]).toMatchObject(file);
    expect(await stores.storages.find(id, made[1]?.uuid ?? "")).toEqual(made[1]);
    const { rows } = await sql<{ text: string }>`select encode(content, 'escape') as text from storage
      where resource_id = ${id} and content is not null`.execute(database().database.kysely);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.text).not.toContain("geheim");
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
    expect(await stores.storages.find(id, uuid)).toBeUndefined();
  });
});
