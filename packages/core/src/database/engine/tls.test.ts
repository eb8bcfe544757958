import { describe, expect, test } from "vitest";
import {
  DATABASE_ENGINE_NAMES,
  type DatabaseEngine,
  databaseEngine,
  databaseUrl,
  engineFields,
  enginePort,
  engineValues,
} from "../database-engine.ts";

const CERTIFICATE = { authority: "AUTHORITY\n", certificate: "CERTIFICATE\n", key: "KEY\n" };

/** A database with TLS, in this mode or the engine's default. */
const tlsValues = (engine: DatabaseEngine, ssl_mode?: string) => {
  const defaults = engineFields(engine).map(([name, { default: byDefault, type }]) => [
    name,
    type === "password" ? "s3cret" : byDefault,
  ]);
  const known = { ...Object.fromEntries(defaults), enable_ssl: "true", ...(ssl_mode && { ssl_mode }) };
  return engineValues(engine, known);
};
const urlOf = (engine: DatabaseEngine, mode?: string) => {
  const values = tlsValues(engine, mode);
  return databaseUrl(databaseEngine(engine).address(values, "x:7"), "h", enginePort(engine, values));
};
const startOf = (engine: DatabaseEngine, mode?: string) =>
  databaseEngine(engine).start(tlsValues(engine, mode), CERTIFICATE);

const POSTGRES = [
  ...["postgres", "-c", "ssl=on", "-c", "ssl_cert_file=/etc/berth/tls/server.crt"],
  ...["-c", "ssl_key_file=/etc/berth/tls/server.key"],
];
const MYSQL = ["--ssl-ca=/etc/berth/tls/ca.crt", "--ssl-cert=/etc/berth/tls/server.crt"];
const MYSQL_KEY = "--ssl-key=/etc/berth/tls/server.key";
const MONGO = [
  ...["--tlsCertificateKeyFile=/etc/berth/tls/server.pem", "--tlsCAFile=/etc/berth/tls/ca.crt"],
  "--tlsAllowConnectionsWithoutCertificates",
];
const STRICT_POSTGRES = [...POSTGRES, "-c", "hba_file=/etc/postgresql/pg_hba.conf"];

describe("a database that offers TLS", () => {
  test.each<[DatabaseEngine, string | undefined, string]>([
    ["postgresql", "allow", "postgres://postgres:s3cret@h:5432/postgres?sslmode=allow"],
    ["postgresql", "verify-full", "postgres://postgres:s3cret@h:5432/postgres?sslmode=verify-full"],
    ["mysql", "PREFERRED", "mysql://mysql:s3cret@h:3306/default?ssl-mode=PREFERRED"],
    ["mysql", "VERIFY_CA", "mysql://mysql:s3cret@h:3306/default?ssl-mode=VERIFY_CA"],
    ["mariadb", undefined, "mysql://mariadb:s3cret@h:3306/default"],
    ["mongodb", "require", "mongodb://root:s3cret@h:27017/?directConnection=true&tls=true"],
    ["redis", undefined, "rediss://default:s3cret@h:6380/0"],
    ["keydb", undefined, "rediss://:s3cret@h:6380/0"],
    ["dragonfly", undefined, "rediss://:s3cret@h:6380/0"],
  ])("of %s in the mode %s has the URL %s", (engine, mode, url) => {
    expect(urlOf(engine, mode)).toBe(url);
  });

  test.each<[DatabaseEngine, string | undefined, readonly string[]]>([
    ["postgresql", "allow", POSTGRES],
    ["postgresql", "prefer", POSTGRES],
    ["postgresql", "require", STRICT_POSTGRES],
    ["postgresql", "verify-ca", STRICT_POSTGRES],
    ["postgresql", "verify-full", STRICT_POSTGRES],
    ["mysql", "PREFERRED", ["mysqld", ...MYSQL, MYSQL_KEY]],
    ["mysql", "REQUIRED", ["mysqld", ...MYSQL, MYSQL_KEY, "--require-secure-transport=ON"]],
    ["mysql", "VERIFY_IDENTITY", ["mysqld", ...MYSQL, MYSQL_KEY, "--require-secure-transport=ON"]],
    ["mariadb", undefined, ["mariadbd", ...MYSQL, MYSQL_KEY, "--require-secure-transport=ON"]],
    ["mongodb", "allow", ["mongod", "--tlsMode=allowTLS", ...MONGO]],
    ["mongodb", "prefer", ["mongod", "--tlsMode=preferTLS", ...MONGO]],
    ["mongodb", "verify-full", ["mongod", "--tlsMode=requireTLS", ...MONGO]],
    ["redis", undefined, ["redis-server", "/usr/local/etc/redis/redis.conf"]],
    ["keydb", undefined, ["keydb-server", "/etc/keydb/keydb.conf"]],
    [
      "dragonfly",
      undefined,
      [
        ...["dragonfly", "--logtostderr", "--port=6380", "--tls", "--tls_cert_file=/etc/berth/tls/server.crt"],
        "--tls_key_file=/etc/berth/tls/server.key",
      ],
    ],
  ])("of %s in the mode %s is started by %j", (engine, mode, argv) => {
    expect(startOf(engine, mode).argv).toEqual(argv);
  });

  test("lets nobody but the server read its key", () => {
    for (const engine of DATABASE_ENGINE_NAMES.filter((name) => "enable_ssl" in databaseEngine(name).fields)) {
      const { files = [] } = startOf(engine);
      const holders = files.filter(({ text }) => text.includes("KEY"));
      expect(holders, engine).toHaveLength(1);
      expect(holders[0]?.isSecret, engine).toBe(true);
      for (const part of ["AUTHORITY\n", "CERTIFICATE\n"]) {
        expect(
          files.some(({ text }) => text.includes(part)),
          engine,
        ).toBe(true);
      }
    }
  });

  test("of PostgreSQL takes plain connections from its own container alone where the mode says so", () => {
    const access = startOf("postgresql").files?.find(({ path }) => path.endsWith("pg_hba.conf"))?.text ?? "";
    const outside = access.split("\n").filter((line) => !/^local|127\.0\.0\.1|::1|^$/.test(line));
    expect(outside).toEqual(["hostssl all all all scram-sha-256"]);
    const values = { ...tlsValues("postgresql"), postgres_host_auth_method: "md5" };
    const files = databaseEngine("postgresql").start(values, CERTIFICATE).files ?? [];
    expect(files.at(-1)?.text).toContain("hostssl all all all md5\n");
  });

  test("of Redis listens with TLS only, whatever its own configuration says", () => {
    const values = { ...tlsValues("redis"), redis_conf: "port 6379\nmaxmemory 7mb" };
    const { text = "" } = databaseEngine("redis").start(values, CERTIFICATE).files?.[0] ?? {};
    expect(text.split("\n").filter((line) => /^(tls-)?port/.test(line))).toEqual([
      ...["port 6379", "port 0", "tls-port 6380"],
    ]);
  });

  test.each<[DatabaseEngine, readonly string[]]>([
    ["mongodb", ["mongosh", "--tls", "--tlsCAFile=/etc/berth/tls/ca.crt", "--quiet", "--eval"]],
    ["redis", ["redis-cli", "-p", "6380", "--tls", "--cacert", "/etc/berth/tls/ca.crt", "ping"]],
    ["keydb", ["keydb-cli", "-p", "6380", "--tls", "--cacert", "/etc/berth/tls/ca.crt", "ping"]],
    ["dragonfly", ["redis-cli", "-p", "6380", "--tls", "--cacert", "/etc/berth/tls/ca.crt", "ping"]],
  ])("of %s is asked for its health by TLS", (engine, argv) => {
    expect(databaseEngine(engine).health(tlsValues(engine)).slice(0, argv.length)).toEqual(argv);
  });

  test("of MongoDB is saved and restored by TLS", () => {
    const { dumps } = databaseEngine("mongodb");
    const values = tlsValues("mongodb");
    const tools = [dumps?.dumpAll(values), dumps?.restoreAll(values)];
    for (const command of tools) expect(command?.argv).toEqual(expect.arrayContaining(["--ssl"]));
    expect(dumps?.countRows(values, "shop").argv).toEqual(expect.arrayContaining(["--tls"]));
  });
});
