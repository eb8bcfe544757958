import { databaseReferenceText, keptLogin } from "@berth/core/database";
import type { ResourceRef } from "@berth/core/resource";
import { printingEngine, testPlace } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world({ engineFor: () => printingEngine({ kinds: ["application", "database"] }) });
});
afterAll(() => at.db.close());

describe("a database that is attached", () => {
  let app: ResourceRef;
  let db: ResourceRef;
  let name: string;
  let number = 0;
  beforeEach(async () => {
    number += 1;
    name = `shopdb ${number}`;
    app = { kind: "application", ...(await at.own.applications.createPublic(gitApplication(at))) };
    db = { kind: "database", ...(await at.own.databases.create("postgresql", { ...at.where, name })) };
  });
  const attach = (fields: object = {}) => at.own.attachments.attach(db.uuid, { resource_uuid: app.uuid, ...fields });
  const valuesOf = async () => (await at.own.envs.list(app, {})).items.map(({ key, value }) => `${key}=${value}`);
  const realValue = async () => (await at.own.envs.list(app, {})).items[0]?.real_value;

  test("is a reference by its name in a variable and its preview twin, shown on both sides", async () => {
    const made = await attach();
    const reference = `{{ database.${name}.url }}`;
    expect(made).toMatchObject({
      key: "DATABASE_URL",
      reference,
      route: "network",
      problem: null,
      database_name: name,
    });
    expect(await valuesOf()).toEqual([`DATABASE_URL=${reference}`, `DATABASE_URL=${reference}`]);
    const both = [made, { ...made, is_preview: true }];
    expect(await at.own.attachments.list(db, {})).toEqual({ items: both, total: 2 });
    expect(await at.own.attachments.list(app, { take: 1 })).toEqual({ items: [made], total: 2 });
    const { project_uuid, environment_name } = at.where;
    const inEnvironment = await at.own.attachments.listByEnvironment(project_uuid, environment_name, {});
    expect(inEnvironment.items.filter(({ database_uuid }) => database_uuid === db.uuid)).toEqual(both);
  });

  test("keeps the user and the password that it runs with until it has others", async () => {
    await attach();
    const { id = 0 } = (await at.stores.databases.find(db.uuid)) ?? {};
    const runsWith = (postgres_user: string, postgres_password: string) =>
      at.stores.databases.update(id, {
        secrets: keptLogin({ postgres_user, postgres_password, postgres_db: "postgres" }),
      });
    await runsWith("postgres", "first-password");
    await at.own.databases.update(db.uuid, { postgres_user: "bob", postgres_password: "second-password" });
    expect(await realValue()).toBe(`postgres://postgres:first-password@${db.uuid}:5432/postgres`);
    await runsWith("bob", "second-password");
    expect(await realValue()).toBe(`postgres://bob:second-password@${db.uuid}:5432/postgres`);
  });

  test("keeps its references when it is renamed, by its uuid where another one has that name", async () => {
    await attach();
    const value = `{{database.${name}.url}}?a=1,{{ team.X }},{{ database.${db.uuid}.host }}`;
    await at.own.envs.create(app, { key: "MIXED", value });
    const { message } = await at.own.databases.update(db.uuid, { name: `${name} new` });
    expect(message).toBe("Database updated. 2 variables that reference it have its new name.");
    const renamed = `{{ database.${name} new.url }}`;
    const rest = `?a=1,{{ team.X }},{{ database.${db.uuid}.host }}`;
    expect(new Set(await valuesOf())).toEqual(new Set([`DATABASE_URL=${renamed}`, `MIXED=${renamed}${rest}`]));
    expect(await realValue()).toContain(`@${db.uuid}:5432/postgres`);
    await at.own.databases.create("postgresql", { ...at.where, name: `${name} taken` });
    await at.own.databases.update(db.uuid, { name: `${name} taken` });
    expect(await valuesOf()).toContain(`DATABASE_URL={{ database.${db.uuid}.url }}`);
    // A reference by its uuid has nothing to change.
    expect(await at.own.databases.update(db.uuid, { name })).toEqual({ message: "Database updated." });
  });

  test("leaves references that could mean another database too when it is renamed", async () => {
    await attach();
    const twin = await at.own.databases.create("postgresql", { ...at.where, name });
    expect(await at.own.databases.update(twin.uuid, { name: `${name} twin` })).toEqual({
      message: "Database updated.",
    });
    expect(await valuesOf()).toContain(`DATABASE_URL={{ database.${name}.url }}`);
  });

  test("is used by its parts as by its URL: shown, renamed and detached, and the URL is attached beside them", async () => {
    await at.own.envs.create(app, { key: "DB_HOST", value: `{{ database.${name}.host }}` });
    const both = `{{ database.${name}.host }}:{{ database.${name}.port }}`;
    const { uuid: mixed } = await at.own.envs.create(app, { key: "DB_ADDRESS", value: both });
    const listed = (await at.own.attachments.list(app, {})).items.filter(({ key }) => key === "DB_ADDRESS");
    expect(listed.map(({ is_preview }) => is_preview).sort()).toEqual([false, true]);
    const twin = (await at.own.envs.list(app, {})).items.find(
      ({ key, uuid }) => key === "DB_ADDRESS" && uuid !== mixed,
    );
    for (const uuid of [mixed, twin?.uuid ?? ""]) await at.own.envs.delete(app, uuid);
    const used = (await at.own.attachments.list(app, {})).items.map(({ key }) => key);
    expect(new Set(used)).toEqual(new Set(["DB_HOST"]));
    await expect(attach({ as: "DB_HOST" })).rejects.toMatchObject({ code: "resource.already_exists" });
    await attach();
    await at.own.databases.update(db.uuid, { name: `${name} new` });
    expect(await valuesOf()).toContain(`DB_HOST={{ database.${name} new.host }}`);
    expect((await at.own.attachments.detach(db.uuid, { resource_uuid: app.uuid })).message).toMatch(
      /^Database detached, deleted .*DB_HOST.*\. .+ does not use it from its next deployment on\.$/,
    );
    expect(await valuesOf()).toEqual([]);
  });

  test("is attached once, however often it is asked for, and never over another value", async () => {
    await at.own.envs.create(app, { key: "CACHE_URL", value: "redis://elsewhere" });
    expect(await attach()).toEqual(await attach());
    await expect(attach({ as: "CACHE_URL" })).rejects.toMatchObject({ code: "resource.already_exists" });
    expect(await valuesOf()).toHaveLength(4);
  });

  test("is seen with the password of the moment, by those who may read it", async () => {
    await attach();
    await at.own.databases.update(db.uuid, { postgres_password: "first-password" });
    expect(await realValue()).toBe(`postgres://postgres:first-password@${db.uuid}:5432/postgres`);
    await at.own.databases.update(db.uuid, { postgres_password: "second-password" });
    expect(await realValue()).toContain(":second-password@");
    const [hidden] = (await at.as(at.place.project.team_id, "read").envs.list(app, {})).items;
    expect(JSON.stringify(hidden)).not.toContain("password@");
  });

  test("is named by its uuid where another of the environment has its name", async () => {
    const twin = await at.own.databases.create("redis", { ...at.where, name });
    await attach();
    expect((await valuesOf())[0]).toBe(`DATABASE_URL=${databaseReferenceText(db.uuid)}`);
    await at.own.envs.create(app, { key: "BOTH", value: databaseReferenceText(name) });
    const { items } = await at.own.attachments.list({ kind: "database", uuid: twin.uuid }, {});
    expect(items[0]).toMatchObject({ key: "BOTH", route: null, problem: expect.stringContaining("its uuid") });
  });

  test("is detached with its preview twin, unless a variable holds more than its URL", async () => {
    await attach();
    await attach({ as: "SECOND_URL" });
    await at.own.attachments.detach(db.uuid, { resource_uuid: app.uuid, as: "SECOND_URL" });
    expect((await at.own.attachments.list(db, {})).total).toBe(2);
    await at.own.envs.update(app, { key: "DATABASE_URL", value: `{{ database.${name}.url }}?pool=5` });
    const detach = () => at.own.attachments.detach(db.uuid, { resource_uuid: app.uuid });
    await expect(detach()).rejects.toMatchObject({ code: "resource.in_use" });
    await attach({ as: "SECOND_URL" });
    expect((await detach()).message).toMatch(
      /^Database detached, deleted SECOND_URL\. .+ still references it in DATABASE_URL\.$/,
    );
    expect(await valuesOf()).toContain(`DATABASE_URL={{ database.${name}.url }}?pool=5`);
    expect((await valuesOf()).some((one) => one.startsWith("SECOND_URL"))).toBe(false);
    await at.own.envs.update(app, { key: "DATABASE_URL", value: `{{database.${db.uuid}.url}}` });
    await detach();
    expect([await valuesOf(), (await at.own.attachments.list(db, {})).total]).toEqual([[], 0]);
    await expect(detach()).rejects.toMatchObject({ code: "resource.not_found" });
  });

  test("is not deleted while it is used, unless that is forced", async () => {
    await attach();
    await expect(at.own.lifecycle.delete(db, {})).rejects.toMatchObject({
      code: "resource.in_use",
      message: expect.stringContaining("(DATABASE_URL)"),
    });
    await at.own.lifecycle.delete(db, { force: true });
    expect((await at.own.attachments.list(app, {})).total).toBe(0);
    expect(await realValue()).toBe(`{{ database.${name}.url }}`);
  });

  test("is not deleted either while a value only contains it, and is free with its last user", async () => {
    await at.own.envs.create(app, { key: "OPTIONS", value: `--url={{ database.${db.uuid}.url }}` });
    await expect(at.own.lifecycle.delete(db, {})).rejects.toMatchObject({ code: "resource.in_use" });
    await at.own.lifecycle.delete(app, {});
    await at.own.lifecycle.delete(db, {});
  });

  test("belongs to the environment of what uses it", async () => {
    const place = await testPlace(at.stores);
    const where = { project_uuid: place.project.uuid, environment_name: place.environment.name };
    const far = await at.own.databases.create("postgresql", { ...at.where, ...where, server_uuid: place.server.uuid });
    await expect(at.own.attachments.attach(far.uuid, { resource_uuid: app.uuid })).rejects.toMatchObject({
      code: "request.invalid",
      fields: { resource_uuid: [expect.stringContaining("another environment")] },
    });
    await at.own.envs.create(app, { key: "A", value: databaseReferenceText(far.uuid) });
    expect(await realValue()).toBe(databaseReferenceText(far.uuid));
  });

  test("is refused where no address works, and nothing is kept of the attempt", async () => {
    const { id } = (await at.stores.applications.find(app.uuid)) ?? { id: -1 };
    await at.stores.applications.update(id, { settings: { build_pack: "dockercompose" } });
    await expect(attach()).rejects.toMatchObject({
      fields: { resource_uuid: [expect.stringContaining("connect_to_docker_network")] },
    });
    expect(await valuesOf()).toEqual([]);
  });
});

describe("a database of this machine's containers", () => {
  test("gets a port for this machine alone once an application without containers names it", async () => {
    await at.stores.servers.update(at.place.server.uuid, { ip: "host.docker.internal", engine: "docker" });
    const { uuid } = await at.own.databases.create("postgresql", { ...at.where, name: "near" });
    const local = await at.stores.servers.insert({
      uuid: "local-server",
      name: "localhost",
      description: null,
      ip: "127.0.0.1",
      port: 22,
      user: "root",
      engine: "process",
      proxy_type: "NONE",
      settings: at.place.server.settings,
    });
    await at.stores.destinations.insert({ uuid: "local-network", server_id: local.id, name: "d", network: "n" });
    const app = await at.own.applications.createPublic({ ...gitApplication(at), server_uuid: local.uuid });
    expect((await at.stores.databases.find(uuid))?.loopback_port).toBeNull();
    const made = await at.own.attachments.attach(uuid, { resource_uuid: app.uuid });
    expect(made.route).toBe("loopback");
    const port = (await at.stores.databases.find(uuid))?.loopback_port;
    expect(port).toBeGreaterThanOrEqual(20_000);
    const [variable] = (await at.own.envs.list({ kind: "application", uuid: app.uuid }, {})).items;
    expect(variable?.real_value).toContain(`@127.0.0.1:${port}/`);
    await at.own.attachments.attach(uuid, { resource_uuid: app.uuid, as: "AGAIN" });
    expect((await at.stores.databases.find(uuid))?.loopback_port).toBe(port);

    const portOf = async (database: string) => (await at.stores.databases.find(database))?.loopback_port;
    const open = { is_public: true, public_port: 15_432 };
    const shared = await at.own.databases.create("postgresql", { ...at.where, name: "public", ...open });
    const toShared = await at.own.attachments.attach(shared.uuid, { resource_uuid: app.uuid, as: "SHARED_URL" });
    expect([toShared.route, await portOf(shared.uuid)]).toEqual(["loopback", null]);
    await at.own.databases.update(shared.uuid, { is_public: false });
    expect(await portOf(shared.uuid)).toBeGreaterThanOrEqual(20_000);
    expect((await at.own.attachments.list({ kind: "database", uuid: shared.uuid }, {})).items[0]).toMatchObject({
      route: "loopback",
      problem: null,
    });

    await at.own.envs.create(
      { kind: "application", uuid: app.uuid },
      { key: "EARLY", value: "{{ database.later.url }}" },
    );
    const later = await at.own.databases.create("postgresql", { ...at.where, name: "later" });
    expect(await portOf(later.uuid)).toBeGreaterThanOrEqual(20_000);
    const unused = await at.own.databases.create("postgresql", { ...at.where, name: "unused" });
    expect(await portOf(unused.uuid)).toBeNull();
  });
});
