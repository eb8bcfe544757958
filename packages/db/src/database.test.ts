import { databaseDefaults } from "@berth/core/database";
import { testDatabaseResource, testPlace, testServer, testTeam } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("keeps a database with its settings, its engine's fields and the names of where it lives", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const made = await testDatabaseResource(stores, place, {
      engine: "mysql",
      settings: { ...databaseDefaults("mysql"), limits_memory: "512m" },
      fields: { mysql_user: "app", mysql_conf: null },
      is_public: true,
      public_port: 13_306,
    });
    expect(await stores.databases.find(made.uuid)).toEqual(made);
    expect(made).toMatchObject({
      kind: "database",
      engine: "mysql",
      is_public: true,
      public_port: 13_306,
      fields: { mysql_user: "app", mysql_conf: null },
      settings: { image: "mysql:8", limits_memory: "512m", limits_cpus: "0" },
      started_at: null,
      placement: { server_ip: place.server.ip, environment_name: "production" },
    });
    expect(await stores.databases.list({})).toEqual({ items: [made], total: 1 });
    expect((await stores.databases.list({ environment_id: place.environment.id }, { skip: 1, take: 1 })).total).toBe(1);
  });

  it("lists the public ones of a server only", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const access = { is_public: true, public_port: 13_307 };
    const made = await testDatabaseResource(stores, place, access);
    await testDatabaseResource(stores, place);
    await testDatabaseResource(stores, await testPlace(stores), access);
    expect(await database().system.databases.listForwarded([place.server.id])).toEqual([made]);
    await stores.databases.update(made.id, { access: { is_public: false, public_port: 13_307 } });
    expect(await database().system.databases.listForwarded([place.server.id])).toEqual([]);
  });

  it("tells once of a certificate that ends soon, and again of the one after it", async () => {
    const stores = await testTeam(database());
    const { id } = await testDatabaseResource(stores, await testPlace(stores), { fields: { enable_ssl: "true" } });
    const { databases } = database().system;
    const at = (day: number) => new Date(Date.UTC(2031, 0, day));
    await stores.databases.update(id, { certificate_expires_at: at(20) });
    expect([await databases.emitExpiring(at(20)), await databases.emitExpiring(at(21))]).toEqual([0, 1]);
    expect(await databases.emitExpiring(at(21))).toBe(0);
    await stores.databases.update(id, { certificate_expires_at: at(25) });
    expect([await databases.emitExpiring(at(25)), await databases.emitExpiring(at(26))]).toEqual([0, 1]);
    await stores.databases.update(id, { certificate_expires_at: at(25), fields: { enable_ssl: "false" } });
    expect(await databases.emitExpiring(at(26))).toBe(0);
  });

  it("changes what is given and nothing else", async () => {
    const stores = await testTeam(database());
    const { id, ...made } = await testDatabaseResource(stores, await testPlace(stores));
    const changed = await stores.databases.update(id, {
      name: "orders",
      settings: { limits_cpus: "2" },
      fields: { postgres_user: "app" },
      access: { is_public: true, public_port: 15_432 },
    });
    expect(changed).toEqual({
      ...made,
      id,
      name: "orders",
      settings: { ...made.settings, limits_cpus: "2" },
      fields: { postgres_user: "app", postgres_db: "postgres" },
      is_public: true,
      public_port: 15_432,
      updated_at: changed?.updated_at,
    });
    expect(await stores.databases.update(999_999, { name: "x" })).toBeUndefined();
  });

  it("keeps passwords encrypted, and changes one without touching the others", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id } = await testDatabaseResource(stores, place, { secrets: { a: "first-ü", b: "second" } });
    const { id: other } = await testDatabaseResource(stores, place);
    await stores.databases.update(id, { secrets: { b: "third" } });
    expect(await stores.databases.secretsOf([id, other, 999_999])).toEqual(
      new Map([
        [id, { a: "first-ü", b: "third" }],
        [other, { postgres_password: "hunter2" }],
      ]),
    );
    const { rows } = await sql<{ text: string }>`select encode(secrets, 'escape') || settings::text as text
      from database`.execute(database().database.kysely);
    for (const { text } of rows) expect(text).not.toMatch(/first|second|third|hunter2/);
  });

  it("gives a port of a server to one public database, the first that asks", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const asked = Array.from({ length: 5 }, () =>
      testDatabaseResource(stores, place, { is_public: true, public_port: 5555 }),
    );
    const results = await Promise.allSettled(asked);
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused.map(({ reason }) => reason.code)).toEqual(Array(4).fill("port.taken"));
    expect((await stores.databases.list({})).total).toBe(1);

    const hidden = await testDatabaseResource(stores, place, { is_public: false, public_port: 5555 });
    const elsewhere = { ...place, ...(await testServer(stores)) };
    await testDatabaseResource(stores, elsewhere, { is_public: true, public_port: 5555 });
    await expect(
      stores.databases.update(hidden.id, { access: { is_public: true, public_port: 5555 } }),
    ).rejects.toMatchObject({ code: "port.taken", message: "Public port already used by another database." });
    expect((await stores.databases.find(hidden.uuid))?.is_public).toBe(false);
  });

  it("frees the port of a database that is not public any more, or is gone", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const access = { is_public: true, public_port: 6666 };
    const first = await testDatabaseResource(stores, place, access);
    await stores.databases.update(first.id, { access: { ...access, is_public: false } });
    const second = await testDatabaseResource(stores, place, access);
    await database().system.resources.delete(second.id);
    expect((await stores.databases.update(first.id, { access }))?.is_public).toBe(true);
  });

  it("makes no database on another team's server", async () => {
    const [own, other] = [await testTeam(database()), await testTeam(database())];
    const [place, foreign] = [await testPlace(own), await testPlace(other)];
    await expect(
      testDatabaseResource(own, { ...place, server: foreign.server, destination: foreign.destination }),
    ).rejects.toMatchObject({ code: "resource.not_found" });
  });
});
