import { ServerSettings } from "@berth/core/server";
import { testPlace, testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("keeps a server with its settings and destinations", async () => {
    const stores = await testTeam(database());
    const { server, destination } = await testPlace(stores, { concurrent_builds: 7 });
    expect(await stores.servers.find(server.uuid)).toEqual(server);
    expect(await stores.servers.findById(server.id)).toEqual(server);
    expect(server.settings).toEqual(
      ServerSettings.parse({ concurrent_builds: 7, is_reachable: true, is_usable: true }),
    );
    expect(await stores.destinations.list({ server_id: server.id })).toEqual({ items: [destination], total: 1 });
    expect(await stores.servers.list()).toEqual({ items: [server], total: 1 });
    expect(await database().system.servers.find(server.id)).toEqual(server);
    expect(await database().system.servers.list()).toContainEqual(server);
  });

  it("lists servers that run containers first, so that clients which take the first can deploy anything", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const { id, ...fields } = place.server;
    const docker = await stores.servers.insert({ ...fields, uuid: testUuid(), engine: "docker", ip: "192.0.2.7" });
    const later = await testPlace(stores);
    const listed = async (paging = {}) => (await stores.servers.list(paging)).items.map((server) => server.id);
    expect(await listed()).toEqual([docker.id, id, later.server.id]);
    expect(await listed({ skip: 1, take: 1 })).toEqual([id]);
    for (const unfit of [{ is_reachable: false }, { is_usable: false }, { is_build_server: true }]) {
      await stores.servers.update(docker.uuid, { settings: { ...docker.settings, ...unfit } });
      expect(await listed()).toEqual([id, docker.id, later.server.id].sort((one, other) => one - other));
    }
  });

  it("records no probe that began before a validation found something else", async () => {
    const stores = await testTeam(database());
    const { server } = await testPlace(stores);
    const { recordProbe } = database().system.servers;
    const answered = { probes: server.probes + 1, unreachable_count: 0, is_reachable: true, is_substituted: false };
    await stores.servers.update(server.uuid, { settings: { is_reachable: false, is_usable: false } });
    await recordProbe(server, answered, null);
    const lost = await stores.servers.findById(server.id);
    expect(lost).toMatchObject({ probes: server.probes, settings: { is_reachable: false } });
    await stores.servers.update(server.uuid, { settings: { is_reachable: true, is_usable: true } });
    await recordProbe(server, answered, null);
    expect((await stores.servers.findById(server.id))?.probes).toBe(server.probes + 1);
  });

  it("changes only the fields that are given, whatever else the object carries", async () => {
    const stores = await testTeam(database());
    const { server } = await testPlace(stores);
    const other = await testPlace(stores);
    const change = { ...other.server, name: "web-1" };
    const changed = await stores.servers.update(server.uuid, change);
    expect(changed).toMatchObject({ id: server.id, uuid: server.uuid, name: "web-1" });
    const settings = { ...server.settings, deployment_queue_limit: 3 };
    expect(await stores.servers.update(server.uuid, { settings })).toMatchObject({ name: "web-1", settings });
  });

  it("tells the newer of two records by their revision, whatever changed and however long it waited", async () => {
    const stores = await testTeam(database());
    const { server } = await testPlace(stores);
    const { kysely } = database().database;
    const named = await stores.servers.update(server.uuid, { name: "web-1" });
    expect(named?.revision).toBe(server.revision + 1);
    expect(await database().system.servers.recordHostKey(server, "SHA256:one")).toBe("SHA256:one");
    const keyed = await stores.servers.find(server.uuid);
    expect(keyed).toMatchObject({ host_key: "SHA256:one", revision: server.revision + 2 });
    await sql`update server set revision = 0 where id = ${server.id}`.execute(kysely);
    expect((await stores.servers.find(server.uuid))?.revision).toBe(server.revision + 3);
  });

  it("finds servers by their engine, until they have another address or are deleted", async () => {
    const stores = await testTeam(database());
    const [{ server: one }, { server: two }] = [await testPlace(stores), await testPlace(stores)];
    const { servers } = database().system;
    const engine = testUuid();
    const found = async () => (await servers.findByEngine(engine)).map(({ id }) => id);
    expect(await found()).toEqual([]);
    for (const { id } of [one, one, two]) await servers.recordEngine(id, engine);
    expect(await found()).toEqual([one.id, two.id]);
    await stores.servers.update(one.uuid, { name: "web-1", ip: one.ip });
    expect(await servers.findByEngine(engine)).toContainEqual(await servers.find(one.id));
    await stores.servers.update(one.uuid, { ip: `${testUuid()}.example.com` });
    expect(await found()).toEqual([two.id]);
    await stores.servers.markRemoving(two.id);
    expect(await servers.deleteIfEmpty(two.id)).toBe(true);
    expect(await found()).toEqual([]);
  });

  it("reads a setting that was added later as its default", async () => {
    const stores = await testTeam(database());
    const { server } = await testPlace(stores);
    await sql`update server set settings = settings - 'connection_timeout' where id = ${server.id}`.execute(
      database().database.kysely,
    );
    expect(await stores.servers.find(server.uuid)).toEqual({ ...server, revision: server.revision + 1 });
  });

  it("refuses a destination on another team's server", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const { server } = await testPlace(one);
    const destination = { uuid: testUuid(), server_id: server.id, name: "x", network: "x" };
    await expect(other.destinations.insert(destination)).rejects.toMatchObject({ code: "resource.not_found" });
  });
});
