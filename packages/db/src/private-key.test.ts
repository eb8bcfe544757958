import { isDomainError } from "@berth/core";
import type { PrivateKeyFields, Stores } from "@berth/core/ports";
import { testApplication, testPlace, testPrivateKey, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const fields = (change: Partial<PrivateKeyFields> = {}): PrivateKeyFields => ({
  name: "deploy key",
  description: null,
  public_key: "ssh-ed25519 AAAA",
  fingerprint: testUuid(),
  is_http_basic_auth_enabled: false,
  http_basic_auth_username: null,
  secrets: { private_key: "as sent", ssh_key: "ssh form", http_basic_auth_password: "hidden" },
  ...change,
});
const insert = (stores: Stores, change: Partial<PrivateKeyFields> = {}) =>
  stores.privateKeys.insert({ uuid: testUuid(), ...fields(change) });
const exists = { code: "request.invalid", fields: { private_key: ["Private key already exists."] } };

onEachBackend((database) => {
  it("reads back what was written, its secrets apart", async () => {
    const { privateKeys } = await testTeam(database());
    const wanted = fields({ is_http_basic_auth_enabled: true, http_basic_auth_username: "robot" });
    const { secrets, ...visible } = wanted;
    const key = await privateKeys.insert({ uuid: testUuid(), ...wanted });
    expect(key).toMatchObject({ ...visible, is_git_related: false });
    expect(key).not.toHaveProperty("secrets");
    expect(await privateKeys.find(key.uuid)).toEqual(key);
    expect(await privateKeys.findById(key.id)).toEqual(key);
    expect(await privateKeys.findByFingerprint(key.fingerprint)).toEqual(key);
    expect(await privateKeys.secrets(key.id)).toEqual(secrets);
    expect(await privateKeys.secretsOf([key.id, -1])).toEqual(new Map([[key.id, secrets]]));
  });

  it("keeps no secret in readable form", async () => {
    const { uuid } = await insert(await testTeam(database()), {
      secrets: { private_key: "PLAIN-KEY", ssh_key: "PLAIN-SSH", http_basic_auth_password: "PLAIN-PASSWORD" },
    });
    const { rows } = await sql<{ row: string }>`select k::text || encode(k.secrets, 'escape') as row from private_key k
      where uuid = ${uuid}`.execute(database().database.kysely);
    expect(rows[0]?.row).not.toContain("PLAIN");
  });

  it("does not open secrets that were copied from another key", async () => {
    const stores = await testTeam(database());
    const [one, other] = [await insert(stores), await insert(stores)];
    await sql`update private_key set secrets = (select secrets from private_key where id = ${one.id})
      where id = ${other.id}`.execute(database().database.kysely);
    await expect(stores.privateKeys.secrets(other.id)).rejects.toMatchObject({ code: "internal.error" });
    expect(await stores.privateKeys.secrets(one.id)).toBeDefined();
  });

  it("gives a key to exactly one of all who bring it at once, whatever their team", async () => {
    const teams = [await testTeam(database()), await testTeam(database())];
    const fingerprint = testUuid();
    const tries = Array.from({ length: 6 }, (_, n) => {
      const stores = teams[n % 2] as Stores; // the two teams in turn
      return stores.transaction((tx) => insert(tx, { fingerprint })).catch((error: unknown) => error);
    });
    const made = (await Promise.all(tries)).filter((answer) => !isDomainError(answer, "request.invalid"));
    expect(made).toHaveLength(1);
    expect(made[0]).toMatchObject({ fingerprint });
  });

  it("continues with a transaction that tried to bring a key which is there", async () => {
    const stores = await testTeam(database());
    const { fingerprint } = await insert(stores);
    const second = await stores.transaction(async (tx) => {
      await expect(insert(tx, { fingerprint })).rejects.toMatchObject(exists);
      return await insert(tx);
    });
    expect((await stores.privateKeys.list()).items.map(({ id }) => id)).toContain(second.id);
  });

  it("changes a key, but not into one that is there", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const [key, foreign] = [await insert(one), await insert(other)];
    const changed = await one.privateKeys.update(key.uuid, fields({ name: "new", fingerprint: key.fingerprint }));
    expect(changed).toMatchObject({ id: key.id, name: "new", fingerprint: key.fingerprint });
    const taking = one.privateKeys.update(key.uuid, fields({ fingerprint: foreign.fingerprint }));
    await expect(taking).rejects.toMatchObject(exists);
    expect(await one.privateKeys.find(key.uuid)).toEqual(changed);
  });

  it("names who uses a key, and never deletes it under them", async () => {
    const stores = await testTeam(database());
    const { server } = await testPlace(stores);
    const key = await testPrivateKey(stores);
    expect(await stores.privateKeys.users(key.id)).toEqual([]);
    const use = (id: number | null) =>
      sql`update server set private_key_id = ${id}::bigint where id = ${server.id}`.execute(database().database.kysely);
    await use(key.id);
    expect(await stores.privateKeys.users(key.id)).toEqual([
      { kind: "server", uuid: server.uuid, name: server.name, isRemoving: false },
    ]);
    await expect(stores.privateKeys.delete(key.uuid)).rejects.toMatchObject({ code: "private_key.in_use" });
    await use(null);
    expect(await stores.privateKeys.delete(key.uuid)).toBe(true);
    expect(await stores.privateKeys.delete(key.uuid)).toBe(false);
  });

  it("is free as soon as the removal of its last application is requested, however long that takes", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const key = await testPrivateKey(stores);
    const { kysely } = database().database;
    await kysely.updateTable("application").set({ private_key_id: key.id }).where("resource_id", "=", app.id).execute();
    await expect(stores.privateKeys.delete(key.uuid)).rejects.toMatchObject({ code: "private_key.in_use" });
    expect(await stores.resources.markRemoving(app.id, {})).toBe(true);
    expect(await stores.privateKeys.users(key.id)).toEqual([]);
    expect(await stores.privateKeys.delete(key.uuid)).toBe(true);
  });

  it("is related to git while an application uses it", async () => {
    const stores = await testTeam(database());
    const app = await testApplication(stores, await testPlace(stores));
    const key = await testPrivateKey(stores);
    const use = (id: number | null) =>
      sql`update application set private_key_id = ${id}::bigint where resource_id = ${app.id}`.execute(
        database().database.kysely,
      );
    expect(key.is_git_related).toBe(false);
    await use(key.id);
    expect(await stores.privateKeys.find(key.uuid)).toMatchObject({ is_git_related: true });
    expect((await stores.privateKeys.list()).items).toMatchObject([{ is_git_related: true }]);
    expect(await stores.privateKeys.users(key.id)).toEqual([
      { kind: "application", uuid: app.uuid, name: app.name, isRemoving: false },
    ]);
    await use(null);
    expect(await stores.privateKeys.find(key.uuid)).toMatchObject({ is_git_related: false });
  });

  it("counts all keys whatever page is asked for", async () => {
    const stores = await testTeam(database());
    const keys = [await insert(stores), await insert(stores), await insert(stores)];
    expect(await stores.privateKeys.list({ skip: 1, take: 1 })).toEqual({ items: [keys[1]], total: 3 });
    expect(await stores.privateKeys.list({ skip: 9, take: 1 })).toEqual({ items: [], total: 3 });
  });
});
