import { assert, constantFrom, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import {
  DATABASE_ENGINE_NAMES,
  DATABASE_ENGINES,
  type DatabaseEngine,
  databaseEngine,
  databaseUrl,
  engineFields,
  engineValues,
} from "./database-engine.ts";
import type { DatabaseCommand, EngineRow } from "./engine/row.ts";

const HOST = "d00000000000000000000000";

/** A database whose fields contain their own names, each text between characters that no program interprets. */
const valuesOf = (engine: DatabaseEngine, known: Record<string, string> = {}) =>
  engineValues(engine, {
    ...Object.fromEntries(engineFields(engine).map(([name, { default: byDefault }]) => [name, byDefault])),
    ...Object.fromEntries(passwordsOf(engine).map((name) => [name, "s3cret"])),
    ...known,
  });
const passwordsOf = (engine: DatabaseEngine) =>
  engineFields(engine).flatMap(([name, { type }]) => (type === "password" ? [name] : []));

const urlOf = (engine: DatabaseEngine, known: Record<string, string> = {}, image = databaseEngine(engine).image) => {
  const row = databaseEngine(engine);
  return databaseUrl(row.address(valuesOf(engine, known), image), HOST, row.port);
};

describe("the URL of a database", () => {
  test.each<[DatabaseEngine, string]>([
    ["postgresql", `postgres://postgres:s3cret@${HOST}:5432/postgres`],
    ["mysql", `mysql://mysql:s3cret@${HOST}:3306/default`],
    ["mariadb", `mysql://mariadb:s3cret@${HOST}:3306/default`],
    ["mongodb", `mongodb://root:s3cret@${HOST}:27017/?directConnection=true`],
    ["redis", `redis://default:s3cret@${HOST}:6379/0`],
    ["keydb", `redis://:s3cret@${HOST}:6379/0`],
    ["dragonfly", `redis://:s3cret@${HOST}:6379/0`],
    ["clickhouse", `clickhouse://default:s3cret@${HOST}:9000/default`],
  ])("of %s is %s", (engine, url) => {
    expect(urlOf(engine)).toBe(url);
  });

  test.each([
    ["redis:5.0", false],
    ["redis:5-alpine", false],
    ["redis:6", true],
    ["redis:7.2", true],
    ["registry.example:5000/redis", true],
    ["redis", true],
    ["redis@sha256:1ab", true],
  ])("names a user of Redis only where %s knows users: %s", (image, isNamed) => {
    expect(urlOf("redis", {}, image)).toBe(`redis://${isNamed ? "default" : ""}:s3cret@${HOST}:6379/0`);
  });

  test("gives back any user and password, whatever is in them", () => {
    const text = string({ unit: "binary", minLength: 1, maxLength: 64 }).filter((value) => value.isWellFormed());
    assert(
      property(constantFrom(...DATABASE_ENGINE_NAMES), text, text, (engine, user, password) => {
        const { scheme, path } = databaseEngine(engine).address(valuesOf(engine), databaseEngine(engine).image);
        const url = databaseUrl({ scheme, user, password, path }, HOST, 5432);
        expect(url).toMatch(/^\w+:\/\/[\w.~%-]+:[\w.~%-]+@d0+:5432\/[\w?=]*$/);
        const parsed = new URL(url);
        expect([parsed.hostname, parsed.port, `${parsed.pathname}${parsed.search}`]).toEqual([HOST, "5432", path]);
        expect([decodeURIComponent(parsed.username), decodeURIComponent(parsed.password)]).toEqual([user, password]);
      }),
    );
  });

  test("has no login where there is none, and brackets around an address of IPv6", () => {
    const address = { scheme: "redis", user: null, password: null, path: "/0" };
    expect(databaseUrl(address, "2001:db8::1", 6379)).toBe("redis://[2001:db8::1]:6379/0");
    expect(databaseUrl({ ...address, user: "app" }, "h", 1)).toBe("redis://app@h:1/0");
  });
});

describe("what a database's container gets", () => {
  test.each<[DatabaseEngine, Record<string, string>]>([
    ["postgresql", { POSTGRES_USER: "postgres", POSTGRES_PASSWORD: "s3cret", POSTGRES_DB: "postgres" }],
    [
      "mysql",
      {
        ...{ MYSQL_ROOT_PASSWORD: "s3cret", MYSQL_USER: "mysql" },
        ...{ MYSQL_PASSWORD: "s3cret", MYSQL_DATABASE: "default" },
      },
    ],
    [
      "mariadb",
      {
        ...{ MARIADB_ROOT_PASSWORD: "s3cret", MARIADB_USER: "mariadb" },
        ...{ MARIADB_PASSWORD: "s3cret", MARIADB_DATABASE: "default" },
      },
    ],
    [
      "mongodb",
      {
        ...{ MONGO_INITDB_ROOT_USERNAME: "root", MONGO_INITDB_ROOT_PASSWORD: "s3cret" },
        ...{ MONGO_INITDB_DATABASE: "default" },
      },
    ],
    ["redis", { REDISCLI_AUTH: "s3cret" }],
    ["keydb", { REDISCLI_AUTH: "s3cret" }],
    ["dragonfly", { DFLY_requirepass: "s3cret", REDISCLI_AUTH: "s3cret" }],
    [
      "clickhouse",
      {
        ...{ CLICKHOUSE_USER: "default", CLICKHOUSE_PASSWORD: "s3cret" },
        ...{ CLICKHOUSE_DB: "default", CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: "1" },
      },
    ],
  ])("of %s are these variables", (engine, variables) => {
    expect(databaseEngine(engine).variables(valuesOf(engine))).toEqual(variables);
  });

  test.each<[DatabaseEngine, Record<string, string>, ReturnType<EngineRow["start"]>]>([
    ["postgresql", {}, {}],
    [
      "postgresql",
      { postgres_conf: "max_connections = 7" },
      {
        argv: ["postgres", "-c", "config_file=/etc/postgresql/postgresql.conf", "-c", "listen_addresses=*"],
        files: [{ path: "/etc/postgresql/postgresql.conf", text: "max_connections = 7" }],
      },
    ],
    ["mysql", { mysql_conf: "[mysqld]" }, { files: [{ path: "/etc/mysql/conf.d/berth.cnf", text: "[mysqld]" }] }],
    ["mariadb", { mariadb_conf: "[mysqld]" }, { files: [{ path: "/etc/mysql/conf.d/berth.cnf", text: "[mysqld]" }] }],
    [
      "mongodb",
      { mongo_conf: "net: {}" },
      {
        argv: ["mongod", "--config", "/etc/mongo/mongod.conf"],
        files: [{ path: "/etc/mongo/mongod.conf", text: "net: {}" }],
      },
    ],
    [
      "redis",
      { redis_conf: "maxmemory 7mb", redis_password: 'a "b"' },
      {
        argv: ["redis-server", "/usr/local/etc/redis/redis.conf"],
        files: [
          {
            path: "/usr/local/etc/redis/redis.conf",
            text: 'maxmemory 7mb\nrequirepass "a\\x20\\x22b\\x22"\n',
            isSecret: true,
          },
        ],
      },
    ],
    [
      "redis",
      { redis_username: "app", redis_password: "é" },
      {
        argv: ["redis-server", "/usr/local/etc/redis/redis.conf"],
        files: [
          {
            path: "/usr/local/etc/redis/redis.conf",
            text: 'user default off\nuser "app" on "\\x3e\\xc3\\xa9" ~* &* +@all\n',
            isSecret: true,
          },
        ],
      },
    ],
    [
      "keydb",
      {},
      {
        argv: ["keydb-server", "/etc/keydb/keydb.conf"],
        files: [{ path: "/etc/keydb/keydb.conf", text: 'requirepass "s3cret"\n', isSecret: true }],
      },
    ],
    ["dragonfly", {}, {}],
    ["clickhouse", {}, {}],
  ])("of %s with %j is started so", (engine, known, start) => {
    expect(databaseEngine(engine).start(valuesOf(engine, known), null)).toEqual(start);
  });

  test.each<[DatabaseEngine, readonly string[]]>([
    ["postgresql", ["pg_isready", "--host=127.0.0.1", "--username=postgres", "--dbname=postgres"]],
    ["mysql", ["mysqladmin", "ping", "--host=127.0.0.1", "--silent"]],
    ["mariadb", ["healthcheck.sh", "--connect", "--innodb_initialized"]],
    ["mongodb", ["mongosh", "--quiet", "--eval", "db.adminCommand('ping').ok"]],
    ["redis", ["redis-cli", "ping"]],
    ["keydb", ["keydb-cli", "ping"]],
    ["dragonfly", ["redis-cli", "ping"]],
    ["clickhouse", ["wget", "--quiet", "--spider", "http://127.0.0.1:8123/ping"]],
  ])("of %s is asked for its health so", (engine, argv) => {
    expect(databaseEngine(engine).health(valuesOf(engine))).toEqual(argv);
  });
});

test("a Redis with a user of another name is asked for its health as that user", () => {
  const values = valuesOf("redis", { redis_username: "app" });
  expect(databaseEngine("redis").health(values)).toEqual(["redis-cli", "--user", "app", "ping"]);
});

describe("dumping and restoring", () => {
  const target = { database: "shop", excludedCollections: ["logs", "jobs"] };
  const mongo = ["--username=root", "--authenticationDatabase=admin", "--config=/run/berth-login.yaml"];
  const archive = [...mongo, "--archive", "--gzip"];
  const mysqlFlags = ["--user=root", "--single-transaction", "--quick", "--routines", "--events"];
  const restored = ["--clean", "--if-exists", "--no-acl", "--no-owner", "--single-transaction", "--username=postgres"];

  test.each<[DatabaseEngine, { one: string[]; all: string[]; back: string[]; allBack: string[] }]>([
    [
      "postgresql",
      {
        one: ["pg_dump", "--format=custom", "--no-acl", "--no-owner", "--username=postgres", "shop"],
        all: ["pg_dumpall", "--clean", "--if-exists", "--username=postgres"],
        back: ["pg_restore", ...restored, "--dbname=shop"],
        allBack: [
          ...["psql", "--username=postgres", "--dbname=template1", "--quiet", "--output=/dev/null"],
          ...[expect.stringContaining("datallowconn = true"), "--command=\\connect postgres"],
          ...[expect.stringContaining("datallowconn = false"), expect.stringContaining("pg_terminate_backend")],
          ...["--file=-", expect.stringContaining("datallowconn = true")],
        ],
      },
    ],
    [
      "mysql",
      {
        one: ["mysqldump", ...mysqlFlags, "--set-gtid-purged=OFF", "shop"],
        all: ["mysqldump", ...mysqlFlags, "--set-gtid-purged=OFF", "--all-databases"],
        back: ["mysql", "--user=root", "shop"],
        allBack: ["mysql", "--user=root"],
      },
    ],
    [
      "mariadb",
      {
        one: ["mariadb-dump", ...mysqlFlags, "shop"],
        all: ["mariadb-dump", ...mysqlFlags, "--all-databases"],
        back: ["mariadb", "--user=root", "shop"],
        allBack: ["mariadb", "--user=root"],
      },
    ],
    [
      "mongodb",
      {
        one: ["mongodump", ...archive, "--db=shop", "--excludeCollection=logs", "--excludeCollection=jobs"],
        all: ["mongodump", ...archive],
        back: ["mongorestore", ...archive, "--drop", "--nsInclude=shop.*"],
        allBack: ["mongorestore", ...archive, "--drop"],
      },
    ],
  ])("of %s runs these programs", (engine, { one, all, back, allBack }) => {
    const { dumps } = databaseEngine(engine);
    const values = valuesOf(engine);
    expect(dumps?.dump(values, target).argv).toEqual(one);
    expect(dumps?.dumpAll(values).argv).toEqual(all);
    expect(dumps?.restore(values, { from: "shop", into: "shop" }).argv).toEqual(back);
    expect(dumps?.restoreAll(values).argv).toEqual(allBack);
  });

  test("goes into a database of another name", () => {
    const other = { from: "shop", into: "copy" };
    const argvOf = (engine: DatabaseEngine) => databaseEngine(engine).dumps?.restore(valuesOf(engine), other).argv;
    expect(argvOf("postgresql")).toContain("--dbname=copy");
    expect(argvOf("mariadb")).toContain("copy");
    expect(argvOf("mongodb")).toEqual(expect.arrayContaining(["--nsFrom=shop.*", "--nsTo=copy.*"]));
  });

  test("of all databases ends with statements that give users their passwords back, whatever is in these", () => {
    const known = { postgres_user: 'o"r', postgres_password: "a'b" };
    const login = databaseEngine("postgresql").dumps?.keepLogin?.(engineValues("postgresql", known));
    expect(login?.input).toContain(`;\nalter role "o""r" with password 'a''b';\n`);
    const mariadb = { mariadb_root_password: "r'\\", mariadb_user: "shop", mariadb_password: "p" };
    const { input, argv } = databaseEngine("mariadb").dumps?.keepLogin?.(engineValues("mariadb", mariadb)) ?? {};
    expect(input?.split("\n")).toEqual([
      "alter user if exists 'root'@'localhost' identified by 'r''\\\\';",
      "alter user if exists 'root'@'%' identified by 'r''\\\\';",
      "alter user if exists 'shop'@'%' identified by 'p';",
      "flush privileges;",
      "",
    ]);
    expect(argv).toEqual(["mariadb", "--user=root"]);
  });

  test("keeps new passwords out of arguments, and quotes them in statements", () => {
    const secret = `a'b"$(id)\\`;
    const told = databaseEngine("postgresql").changePasswords?.({ POSTGRES_USER: 'o"r', POSTGRES_PASSWORD: secret });
    expect(told).toMatchObject({
      variables: { NEXT_PASSWORD: secret },
      input: `alter role "o""r" with password 'a''b"$(id)\\';\n`,
    });
    const variables = { MARIADB_ROOT_PASSWORD: secret, MARIADB_USER: "shop", MARIADB_PASSWORD: "p" };
    const inMariadb = databaseEngine("mariadb").changePasswords?.(variables);
    expect(inMariadb).toMatchObject({ variables: { NEXT_ROOT: secret, NEXT: "p" } });
    expect(inMariadb?.input).toContain(`alter user if exists 'root'@'%' identified by 'a''b"$(id)\\\\';\n`);
    for (const asked of [told, inMariadb]) expect(asked?.argv.join(" ")).not.toContain("(id)");
  });

  test("has failed when the client of PostgreSQL continues after an error, but for roles that are there", () => {
    const isProblem = databaseEngine("postgresql").dumps?.isProblem;
    const lines = [
      'psql:<stdin>:14: ERROR:  role "postgres" already exists',
      "psql:<stdin>:12: ERROR:  current user cannot be dropped",
      "psql:<stdin>:30: NOTICE:  database does not exist, skipping",
      'psql:<stdin>:40: ERROR:  database "shop" is being accessed by other users',
      'psql:<stdin>:41: ERROR:  relation "orders" already exists',
    ];
    expect(lines.map((line) => isProblem?.(line))).toEqual([false, false, false, true, true]);
  });

  test("is ended in PostgreSQL by the name that its program goes by", () => {
    const { interruption } = databaseEngine("postgresql").dumps ?? {};
    expect(interruption?.variable).toBe("PGAPPNAME");
    const { argv } = interruption?.command(valuesOf("postgresql"), "berth-x1") ?? {};
    expect(argv?.at(-1)).toContain("pg_cancel_backend(pid) from pg_stat_activity where application_name = 'berth-x1'");
  });

  test("gives passwords by variable or file: no argument of any command holds one", () => {
    for (const engine of DATABASE_ENGINE_NAMES) {
      const { dumps, health, start } = databaseEngine(engine);
      const values = valuesOf(engine);
      const commands: DatabaseCommand[] = dumps
        ? [
            dumps.dump(values, target),
            dumps.dumpAll(values),
            dumps.restore(values, { from: "x", into: "y" }),
            dumps.restoreAll(values),
            dumps.databases(values),
            dumps.countRows(values, "x"),
            ...(dumps.interruption ? [dumps.interruption.command(values, "x")] : []),
          ]
        : [];
      const argvs = [health(values), start(values, null).argv ?? [], ...commands.map(({ argv }) => argv)];
      expect(JSON.stringify(argvs)).not.toContain("s3cret");
      for (const { variables, file } of commands) expect(JSON.stringify({ variables, file })).toContain("s3cret");
    }
  });
});

test("a field that several engines have is of one type in all of them", () => {
  const types = Map.groupBy(DATABASE_ENGINE_NAMES.flatMap(engineFields), ([name]) => name);
  const shared = [...types].filter(([, fields]) => fields.length > 1);
  expect(shared.map(([name]) => name).sort()).toEqual(["ca_certificate", "enable_ssl", "init_scripts", "ssl_mode"]);
  for (const [, fields] of shared) expect(new Set(fields.map(([, { type }]) => type)).size).toBe(1);
  expect(Object.keys(DATABASE_ENGINES)).toHaveLength(8);
});
