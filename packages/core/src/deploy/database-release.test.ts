import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_RUN_OPTIONS } from "../application/run-options.ts";
import type { DatabaseSettings } from "../database/database.ts";
import { newDatabase } from "../database/database-change.ts";
import { DATABASE_ENGINE_NAMES, type DatabaseEngine, databaseEngine } from "../database/database-engine.ts";
import type { DatabaseCreate } from "../database/database-input.ts";
import { databaseUrls } from "../database/database-view.ts";
import { newEnv } from "../env/env.ts";
import type { DatabaseRecord } from "../ports/database.ts";
import type { EnvRecord } from "../ports/records.ts";
import type { StorageRecord } from "../ports/storage.ts";
import { databaseSpec } from "./database-release.ts";

const UUID = "d00000000000000000000000";
const IMAGE = { type: "image", image: "berth/d:1" } as const;
const TIMES = { created_at: new Date(0), updated_at: new Date(0) };

const env = (key: string, value: string, change: Partial<EnvRecord> = {}): EnvRecord => ({
  ...{ id: 1, uuid: key, ...newEnv({ key, value }), ...TIMES },
  ...change,
});

const dataOf = (engine: DatabaseEngine): StorageRecord => ({
  ...{ id: 1, uuid: "s1", type: "persistent", name: `${UUID}-data`, mount_path: databaseEngine(engine).dataPath },
  ...{ host_path: null, fs_path: null, content: null, is_directory: false, is_preview_suffix_enabled: false },
  ...{ container: null, is_managed: true, is_read_only: false, has_volume: false },
  ...TIMES,
});

interface Given {
  readonly sent?: object;
  readonly settings?: Partial<DatabaseSettings>;
  readonly envs?: readonly EnvRecord[];
  readonly storages?: readonly StorageRecord[];
}

/** The release of a database that was created with these fields. */
function of(engine: DatabaseEngine, { sent = {}, settings = {}, envs = [], storages }: Given = {}) {
  const made = newDatabase(engine, sent as DatabaseCreate, () => "s3cret");
  const database = {
    ...{ id: 7, uuid: UUID, kind: "database", name: "orders", engine, is_public: false, public_port: null },
    ...{ settings: { ...made.settings, ...settings }, fields: made.fields, placement: { server_ip: "10.0.0.1" } },
    // Only the fields that a release is derived from.
  } as unknown as DatabaseRecord;
  const variables = Object.entries(made.variables).map(([key, value]) => env(key, value));
  const subject = {
    ...{ database, secrets: made.secrets, deployment: { uuid: "dep1" } },
    ...{ envs: [...variables, ...envs], storages: storages ?? [dataOf(engine)] },
  };
  return { spec: databaseSpec(subject, IMAGE), database, made };
}

const ENGINES = DATABASE_ENGINE_NAMES.map((engine) => [engine] as const);

describe("the release of a database", () => {
  test.each(ENGINES)("of %s is its image with its data, found by the name in its URL", (engine) => {
    const { spec, database, made } = of(engine);
    const row = databaseEngine(engine);
    expect(spec).toMatchObject({
      ...{ resourceUuid: UUID, deploymentUuid: "dep1", resourceNumber: 7, kind: "database", name: "orders" },
      artifact: IMAGE,
      ports: [row.port],
      limits: { memoryBytes: null, cpus: null },
    });
    expect(spec.storages[0]).toEqual({ uuid: "s1", name: "data", type: "volume", mountPath: row.dataPath });
    const { internal_db_url } = databaseUrls(database, { ...made.secrets, redis_password: "s3cret" });
    expect(spec.container?.networkAliases).toEqual([new URL(internal_db_url).hostname]);
    expect(spec.container).toMatchObject({ portMappings: [], labels: {}, run: NO_RUN_OPTIONS, isToldPort: false });
  });

  test.each(ENGINES)("of %s has its password in no argument, but where its image reads it", (engine) => {
    const { spec } = of(engine);
    expect(JSON.stringify([spec.container, spec.ports, spec.name])).not.toContain("s3cret");
    const files = spec.storages.filter((mount) => mount.type === "file");
    expect(JSON.stringify([spec.env, files])).toContain("s3cret");
    for (const { content, readers } of files) expect(content.includes("s3cret")).toBe(readers !== undefined);
  });

  test("has the variables of its engine, and its owner's in their place", () => {
    const { env: variables } = of("postgresql", {
      envs: [
        env("TZ", "Europe/Berlin"),
        env("POSTGRES_DB", "mine"),
        env("BUILD", "x", { is_runtime: false }),
        env("PREVIEW", "x", { is_preview: true }),
      ],
    }).spec;
    expect(variables).toEqual({
      ...{ POSTGRES_USER: "postgres", POSTGRES_PASSWORD: "s3cret", POSTGRES_DB: "mine", TZ: "Europe/Berlin" },
    });
  });

  test("of Redis takes its user and password from its variables, also when they are not given to the container", () => {
    const sent = { redis_password: "one", redis_conf: "maxmemory 7mb" };
    const of_ = (change: Partial<EnvRecord>) =>
      of("redis", { sent, envs: [env("REDIS_USERNAME", "app", change), env("REDIS_PASSWORD", "two", change)] }).spec;
    for (const change of [{}, { is_runtime: false }]) {
      const spec = of_(change);
      expect(spec.storages.at(-1)).toMatchObject({
        ...{ type: "file", mountPath: "/usr/local/etc/redis/redis.conf", readers: ["redis", "valkey"] },
        content: 'maxmemory 7mb\nuser default off\nuser "app" on "\\x3etwo" ~* &* +@all\n',
      });
      expect(spec.env.REDISCLI_AUTH).toBe("two");
      expect(spec.container?.healthCheck?.argv).toEqual(["redis-cli", "--user", "app", "ping"]);
    }
  });

  test.each<[DatabaseEngine, object, readonly string[] | null, string | undefined]>([
    ["postgresql", {}, null, undefined],
    [
      "postgresql",
      { postgres_conf: "max_connections = 7" },
      ["postgres", "-c", "config_file=/etc/postgresql/postgresql.conf", "-c", "listen_addresses=*"],
      "/etc/postgresql/postgresql.conf",
    ],
    ["mysql", { mysql_conf: "[mysqld]" }, null, "/etc/mysql/conf.d/berth.cnf"],
    ["mariadb", { mariadb_conf: "[mysqld]" }, null, "/etc/mysql/conf.d/berth.cnf"],
    ["mongodb", { mongo_conf: "net: {}" }, ["mongod", "--config", "/etc/mongo/mongod.conf"], "/etc/mongo/mongod.conf"],
    ["keydb", {}, ["keydb-server", "/etc/keydb/keydb.conf"], "/etc/keydb/keydb.conf"],
    ["dragonfly", {}, null, undefined],
    ["clickhouse", {}, null, undefined],
  ])("of %s with %j is started by %j with the file %s", (engine, sent, command, path) => {
    const { spec } = of(engine, { sent });
    expect(spec.container?.command).toEqual(command);
    const files = spec.storages.flatMap((mount) => (mount.type === "file" ? [mount.mountPath] : []));
    expect(files).toEqual(path === undefined ? [] : [path]);
  });

  test("mounts what its owner adds to its data, such as scripts for the first start", () => {
    const script: StorageRecord = {
      ...dataOf("postgresql"),
      ...{ uuid: "s2", type: "file", name: null, mount_path: "/docker-entrypoint-initdb.d/1.sql" },
      ...{ content: "CREATE TABLE t ()", is_managed: false },
    };
    const { spec } = of("postgresql", { storages: [dataOf("postgresql"), script] });
    expect(spec.storages.map(({ type, mountPath }) => [type, mountPath])).toEqual([
      ["file", "/docker-entrypoint-initdb.d/1.sql"],
      ["volume", "/var/lib/postgresql/data"],
    ]);
  });

  test("is checked as its settings say, and not at all when they say so", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...DATABASE_ENGINE_NAMES),
        fc.tuple(fc.integer({ min: 1 }), fc.integer({ min: 1 }), fc.integer({ min: 1 }), fc.nat()),
        (engine, [interval, timeout, retries, start]) => {
          const settings = {
            ...{ health_check_interval: interval, health_check_timeout: timeout },
            ...{ health_check_retries: retries, health_check_start_period: start },
          };
          const { container } = of(engine, { settings }).spec;
          expect(container?.healthCheck).toMatchObject({
            ...{ intervalSeconds: interval, timeoutSeconds: timeout, retries, startPeriodSeconds: start },
          });
        },
      ),
    );
    const { container } = of("mysql", { settings: { health_check_enabled: false } }).spec;
    expect(container).toMatchObject({ healthCheck: null, hasImageHealthCheck: false });
  });

  test("has the limits of an application with the same settings", () => {
    const settings = { limits_memory: "512m", limits_memory_swap: "1g", limits_cpus: "0.5", limits_cpuset: "0-1" };
    const { limits, container } = of("mariadb", { settings }).spec;
    expect(limits).toEqual({ memoryBytes: 512 << 20, cpus: 0.5 });
    expect(container?.limits).toMatchObject({ memorySwapBytes: 2 ** 30, cpuset: "0-1" });
  });
});
