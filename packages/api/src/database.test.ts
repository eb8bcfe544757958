import { DATABASE_ENGINE_NAMES } from "@berth/core/database";
import { liveKeyOf } from "@berth/core/deploy";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdDatabase, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const created = async (engine: string, fields: object = {}) => {
  const { status, json } = await api.ask("POST", `/databases/${engine}`, { body: { ...api.where, ...fields } });
  expect([status, json.errors]).toEqual([201, undefined]);
  return json;
};

describe("databases", () => {
  test.each(DATABASE_ENGINE_NAMES)("[S03] of %s are created, answered, changed and deleted", async (engine) => {
    const made = await created(engine);
    expect(made).toEqual({
      uuid: expect.any(String),
      internal_db_url: expect.stringContaining(`@${made.uuid}:`),
    });
    const path = `/databases/${made.uuid}`;
    const { json } = await api.ask("GET", path);
    expect(json).toMatchObject({
      database_type: `standalone-${engine}`,
      name: `${engine}-database-${made.uuid}`,
      internal_db_url: made.internal_db_url,
      external_db_url: null,
      status: "exited:unhealthy",
    });
    const changed = await api.ask("PATCH", path, { body: { description: "Orders", limits_memory: "512m" } });
    expect([changed.status, changed.json]).toEqual([200, { message: "Database updated." }]);
    expect((await api.ask("GET", path)).json).toEqual({
      ...json,
      description: "Orders",
      limits_memory: "512m",
      updated_at: expect.any(String),
    });
    const deleted = await api.ask("DELETE", `${path}?delete_volumes=false`);
    expect([deleted.status, deleted.json.message]).toEqual([200, "Database deletion request queued."]);
    expect((await api.ask("GET", path)).json.status).toMatch(/^removing/);
  });

  test("[S30] show the status that was observed", async () => {
    const uuid = await createdDatabase(api);
    const { id = 0, server_id = 0 } = (await api.stores.databases.find(uuid)) ?? {};
    for (const status of ["restarting:unknown", "exited", "running:healthy"]) {
      await api.db.system.resources.setStatus(liveKeyOf({ id, server_id }), status);
      expect((await api.ask("GET", `/databases/${uuid}`)).json.status).toBe(
        status === "exited" ? "exited:unhealthy" : status,
      );
    }
  });

  test("show an authority to who may read, and scripts and keys of it to nobody without read:sensitive", async () => {
    const init_scripts = [{ filename: "a.sql", content: "SELECT 'hush-hush'" }];
    const { uuid, internal_db_url } = await created("postgresql", { enable_ssl: true, init_scripts });
    expect(internal_db_url).toMatch(/\?sslmode=require$/);
    const { json } = await api.ask("GET", `/databases/${uuid}`);
    expect(json).toMatchObject({ init_scripts: [{ index: 0, ...init_scripts[0] }], enable_ssl: true });
    expect(json).toMatchObject({ ca_certificate: expect.any(String), certificate_expires_at: expect.any(String) });
    expect(JSON.stringify(json)).not.toContain("key of");
    const token = await api.tokenWith("read");
    const open = await api.ask("GET", `/databases/${uuid}`, { token });
    expect(open.json).toMatchObject({ ca_certificate: json.ca_certificate, ssl_mode: "require" });
    expect(JSON.stringify(open.json)).not.toMatch(/init_scripts|hush/);

    const redis = await api.ask("POST", "/databases/redis", { body: { ...api.where, init_scripts } });
    const clickhouse = await api.ask("POST", "/databases/clickhouse", { body: { ...api.where, enable_ssl: true } });
    expect([redis.status, clickhouse.status]).toEqual([422, 422]);
    const wrong = await api.ask("PATCH", `/databases/${uuid}`, { body: { ssl_mode: "REQUIRED" } });
    expect([wrong.status, Object.keys(wrong.json.errors as object)]).toEqual([422, ["ssl_mode"]]);
  });

  test("take what clients of the family send: numbers and flags as text, base64, empty texts", async () => {
    const { uuid } = await created("mysql", {
      public_port: "13306",
      is_public: "1",
      limits_cpu_shares: "512",
      mysql_conf: Buffer.from("[mysqld]\nmax_connections=7\n").toString("base64"),
      description: "",
      limits_cpuset: "",
    });
    expect((await api.ask("GET", `/databases/${uuid}`)).json).toMatchObject({
      is_public: true,
      public_port: 13306,
      limits_cpu_shares: 512,
      limits_memory: "0",
      mysql_conf: "[mysqld]\nmax_connections=7\n",
      description: null,
      limits_cpuset: null,
    });
  });

  test.each([
    ["postgresql", { mysql_user: "x" }, { mysql_user: ["This field is not allowed."] }],
    ["mysql", { nope: 1 }, { nope: ["This field is not allowed."] }],
    ["redis", { public_port: 80 }, { public_port: ["Must be a port from 1024 to 65535."] }],
    ["redis", { public_port: 70_000 }, { public_port: ["Must be a port from 1024 to 65535."] }],
    ["postgresql", { limits_memory: "much" }, { limits_memory: expect.any(Array) }],
    ["keydb", { keydb_conf: "/w==" }, { keydb_conf: ["Must be plain text, or base64 of UTF-8 text."] }],
    ["postgresql", { postgres_user: "1st" }, { postgres_user: expect.any(Array) }],
    ["clickhouse", { clickhouse_admin_password: "a b" }, { clickhouse_admin_password: expect.any(Array) }],
    ["mongodb", { environment_name: "nowhere" }, { environment_name: expect.any(Array) }],
    ["mongodb", { image: "--privileged" }, { image: expect.any(Array) }],
  ])("of %s are refused with %j", async (engine, fields, errors) => {
    const before = (await api.ask("GET", "/databases")).json.length;
    const { status, json } = await api.ask("POST", `/databases/${engine}`, { body: { ...api.where, ...fields } });
    expect([status, json.errors]).toEqual([422, expect.objectContaining(errors)]);
    expect((await api.ask("GET", "/databases")).json).toHaveLength(before);
  });

  test("are started by their creation or not made at all", async () => {
    const before = (await api.ask("GET", "/databases")).json.length;
    const body = { ...api.where, instant_deploy: true };
    const { status, json } = await api.ask("POST", "/databases/postgresql", { body });
    expect([status, json.code]).toEqual([422, "engine.unsupported"]);
    expect((await api.ask("GET", "/databases")).json).toHaveLength(before);
  });

  test("need an engine that runs databases to be started, and none to be stopped", async () => {
    const path = `/databases/${await createdDatabase(api)}`;
    for (const [method, action] of [
      ["POST", "start"],
      ["GET", "start"],
      ["POST", "restart"],
    ] as const) {
      const { status, json } = await api.ask(method, `${path}/${action}`);
      expect([status, json.code]).toEqual([422, "engine.unsupported"]);
    }
    const stopped = await api.ask("POST", `${path}/stop`);
    expect([stopped.status, stopped.json.message]).toEqual([400, "Database is already stopped."]);
  });

  test("are listed page by page, with the whole number of them", async () => {
    const { json, headers } = await api.ask("GET", "/databases?skip=1&take=2");
    expect(json).toHaveLength(2);
    expect(Number(headers["x-total-count"])).toBe((await api.ask("GET", "/databases")).json.length);
  });
});

describe("secrets of databases", () => {
  const SECRETS: Readonly<Record<string, object>> = {
    postgresql: { postgres_password: "hush-hush" },
    mysql: { mysql_password: "hush-hush", mysql_root_password: "hush-hush" },
    mariadb: { mariadb_password: "hush-hush", mariadb_root_password: "hush-hush" },
    mongodb: { mongo_initdb_root_password: "hush-hush" },
    redis: { redis_password: "hush-hush" },
    keydb: { keydb_password: "hush-hush" },
    dragonfly: { dragonfly_password: "hush-hush" },
    clickhouse: { clickhouse_admin_password: "hush-hush" },
  };

  test.each(DATABASE_ENGINE_NAMES)("of %s are absent without read:sensitive, and in no event", async (engine) => {
    const { uuid } = await created(engine, { ...SECRETS[engine], is_public: true, public_port: nextPort() });
    const token = await api.tokenWith("read", "write");
    for (const path of [`/databases/${uuid}`, "/databases", `/projects/${api.where.project_uuid}/production`]) {
      const { status, text } = await api.ask("GET", path, { token });
      expect([status, text.includes("hush-hush"), text.includes("_db_url")]).toEqual([200, false, false]);
    }
    const { json } = await api.ask("GET", `/databases/${uuid}`);
    expect(json).toMatchObject(SECRETS[engine] ?? {});
    expect(json.internal_db_url).toContain("hush-hush");
    expect(json.external_db_url).toContain("hush-hush");
    const changed = await api.ask("PATCH", `/databases/${uuid}`, { token, body: { ...SECRETS[engine] } });
    expect(changed.status).toBe(200);
    expect(JSON.stringify(await api.stores.events.list({}))).not.toContain("hush-hush");
  });

  let port = 20_000;
  const nextPort = () => port++;
});

describe("an environment", () => {
  test("has its databases by engine, and is not deleted while it has any; nor is its project", async () => {
    const project = await api.ask("POST", "/projects", { body: { name: "Databases" } });
    const where = { ...api.where, project_uuid: project.json.uuid };
    const uuid = await createdDatabase(api, where);
    await api.ask("POST", "/databases/dragonfly", { body: where });
    const { json } = await api.ask("GET", `/projects/${where.project_uuid}/production`);
    expect(json.postgresqls.map((database: { uuid: string }) => database.uuid)).toEqual([uuid]);
    expect([json.dragonflies.length, json.redis, json.mysqls, json.services]).toEqual([1, [], [], []]);
    const refused = [
      await api.ask("DELETE", `/projects/${where.project_uuid}`),
      await api.ask("DELETE", `/projects/${where.project_uuid}/environments/production`),
    ];
    expect(refused.map(({ status, json: { message } }) => [status, message])).toEqual([
      [400, expect.stringContaining("has resources")],
      [400, expect.stringContaining("has resources")],
    ]);
  });
});

describe("variables of a database", () => {
  test("[S13] [S32] [S33] [S34] [S35] [S36] have the operations and the shape of all variables", async () => {
    const path = `/databases/${await createdDatabase(api)}/envs`;
    const made = await api.ask("POST", path, { body: { key: "TZ", value: "UTC", comment: "why" } });
    expect([made.status, made.json]).toEqual([
      201,
      expect.objectContaining({ key: "TZ", value: "UTC", comment: "why" }),
    ]);
    const listed = await api.ask("GET", path);
    expect([listed.status, listed.json]).toEqual([200, [made.json]]);
    const changed = await api.ask("PATCH", path, { body: { key: "TZ", value: "Europe/Berlin" } });
    expect([changed.status, changed.json]).toEqual([
      201,
      { ...made.json, value: "Europe/Berlin", real_value: "Europe/Berlin", updated_at: expect.any(String) },
    ]);
    const data = [{ key: "TZ", value: "UTC" }, { key: "LANG" }];
    const bulk = await api.ask("PATCH", `${path}/bulk`, { body: { data } });
    expect([bulk.status, bulk.json.map(({ key }: { key: string }) => key)]).toEqual([201, ["TZ", "LANG"]]);
    const deleted = await api.ask("DELETE", `${path}/${made.json.uuid}`);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Environment variable deleted." }]);
    expect((await api.ask("GET", path)).json).toHaveLength(1);
  });

  test("of Redis hold its password and user: what changes there changes its URL, and the other way round", async () => {
    const made = await created("redis", { redis_password: "first" });
    const path = `/databases/${made.uuid}`;
    const shown = async () => {
      const { json } = await api.ask("GET", path);
      return [json.redis_username, json.redis_password, json.internal_db_url];
    };
    expect(await shown()).toEqual(["default", "first", `redis://default:first@${made.uuid}:6379/0`]);
    await api.ask("PATCH", path, { body: { redis_password: "second" } });
    const { json } = await api.ask("GET", `${path}/envs`);
    expect(json.map(({ key, value }: { key: string; value: string }) => [key, value])).toEqual([
      ["REDIS_PASSWORD", "second"],
      ["REDIS_USERNAME", "default"],
    ]);
    const data = [
      { key: "REDIS_PASSWORD", value: "th@rd" },
      { key: "REDIS_USERNAME", value: "app" },
    ];
    await api.ask("PATCH", `${path}/envs/bulk`, { body: { data } });
    expect(await shown()).toEqual(["app", "th@rd", `redis://app:th%40rd@${made.uuid}:6379/0`]);
    for (const { uuid } of json) await api.ask("DELETE", `${path}/envs/${uuid}`);
    expect(await shown()).toEqual([null, null, `redis://${made.uuid}:6379/0`]);
  });
});
