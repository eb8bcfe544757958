import type { ReleaseSpec } from "@berth/core/deploy";
import { describeDocker, eventually, TEST_CLIENTS, type TestClient } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseReleases, script } from "./database.fixture.ts";
import { type DockerWorld, dockerWorld, io } from "./docker.fixture.ts";
import type { DockerEngine } from "./engine.ts";

const IMAGES = Object.values(TEST_CLIENTS).map(({ image }) => image);

describeDocker("a database of", IMAGES, (fixture) => {
  let world: DockerWorld;
  let engine: DockerEngine;

  beforeAll(async () => {
    world = dockerWorld(fixture);
    engine = await world.engine();
  });
  afterAll(() => world.close());

  const healthy = (spec: ReleaseSpec) =>
    eventually(async () => expect((await engine.inspect(spec))?.health).toBe("healthy"));
  const start = async (spec: ReleaseSpec) => {
    await engine.start(spec, io());
    await healthy(spec);
    return spec;
  };
  /** Output of a client in the same network. */
  const ask = async (image: string, argv: readonly string[]) => {
    const client = await fixture.container({ image, argv: ["sleep", "60"] });
    const { exitCode, output } = await client.exec(argv);
    await client.container.remove({ force: true, v: true });
    return [exitCode, output.trim()];
  };
  const sh = async (of: ReleaseSpec, line: string) =>
    (await engine.exec(of, line, { timeoutSeconds: 30 })).output.trim();

  type Tested = keyof typeof TEST_CLIENTS;
  const HARD = "p@ss/w:rd?#[1]%41";
  const cases: readonly (readonly [engine: Tested, sent: object, setting: readonly [ask: string, answer: string]])[] = [
    [
      "postgresql",
      { postgres_conf: "max_connections = 17", postgres_password: HARD, postgres_db: "shop" },
      ["psql --username=postgres --tuples-only --no-align --command='SHOW max_connections'", "17"],
    ],
    [
      "mariadb",
      { mariadb_conf: "[mariadbd]\nmax_connections=17", mariadb_password: HARD, mariadb_database: "shop" },
      [`mariadb --user=root --password="$MARIADB_ROOT_PASSWORD" -BNe 'SELECT @@max_connections'`, "17"],
    ],
    [
      "redis",
      { redis_conf: "maxclients 17\nappendonly yes", redis_password: HARD },
      ["redis-cli --raw CONFIG GET maxclients | tail -1", "17"],
    ],
    [
      "clickhouse",
      { clickhouse_admin_user: "boss", clickhouse_admin_password: HARD },
      [`clickhouse-client --user=boss --password="$CLICKHOUSE_PASSWORD" --query='SELECT 17'`, "17"],
    ],
  ];

  test.each(cases)(
    "%s with %j is reached by its URL, and a release that replaces another has its data",
    async (name, sent, [question, answer]) => {
      const client: TestClient = TEST_CLIENTS[name];
      const { url, next } = databaseReleases(name, client.image, sent);
      const first = await start(next());
      expect(await sh(first, question)).toBe(answer);
      expect(await ask(client.image, client.write(url, "kept"))).toEqual([0, expect.any(String)]);
      await engine.stop(first, { graceSeconds: 30 });
      const second = await start(next());
      expect(await ask(client.image, client.read(url))).toEqual([0, "kept"]);
      const wrong = url.replace(/:[^:@]*@/, ":wrong@");
      expect((await ask(client.image, client.read(wrong))).join(" ")).toMatch(/denied|failed|WRONGPASS|Wrong password/);
      await Promise.all([engine.remove(first), engine.remove(second)]);
    },
  );

  test.each<Tested>(["postgresql", "mariadb"])(
    "%s with defaults runs its owner's scripts when it starts first",
    async (name) => {
      const client: TestClient = TEST_CLIENTS[name];
      const { url, next } = databaseReleases(name, client.image);
      const sql = script(
        "/docker-entrypoint-initdb.d/1.sql",
        "CREATE TABLE t (v text);\nINSERT INTO t VALUES ('first');\n",
      );
      const release = await start(next([sql]));
      expect(await ask(client.image, client.read(url))).toEqual([0, "first"]);
      await engine.remove(release);
    },
  );

  test("PostgreSQL is asked by its own check before its engine has begun with it", async () => {
    const spec = databaseReleases("postgresql", TEST_CLIENTS.postgresql.image).next();
    const healthCheck = spec.container?.healthCheck ?? undefined;
    if (spec.container === undefined || healthCheck === undefined) throw new Error("It has no health check.");
    const rare = { ...healthCheck, intervalSeconds: 3600, startPeriodSeconds: 0 };
    await engine.start({ ...spec, container: { ...spec.container, healthCheck: rare } }, io());
    const ask = () => engine.containers.ownCheck(spec, AbortSignal.timeout(60_000));
    await eventually(async () => expect(await ask()).toMatchObject({ exitCode: 0 }));
    expect((await ask())?.command).toBe(healthCheck.argv.join(" "));
    expect((await engine.inspect(spec))?.health).toBe("starting");
    await engine.remove(spec);
  });

  test("Redis keeps its password in a file that only its own account reads, and in no list of processes", async () => {
    const { next } = databaseReleases("redis", TEST_CLIENTS.redis.image, { redis_password: HARD });
    const release = await start(next());
    expect(await sh(release, "stat -c '%U %a' /usr/local/etc/redis/redis.conf")).toBe("redis 600");
    expect(await sh(release, "cat /proc/[0-9]*/cmdline")).not.toContain(HARD);
    await engine.remove(release);
  });

  test("Redis with a user of another name lets in nobody else", async () => {
    const client: TestClient = TEST_CLIENTS.redis;
    const { url, next } = databaseReleases("redis", client.image, {}, { REDIS_USERNAME: "app" });
    const release = await start(next());
    expect(url).toContain("redis://app:");
    expect(await ask(client.image, client.write(url, "1"))).toEqual([0, "OK"]);
    expect((await ask(client.image, client.read(url.replace(/app:[^@]*@/, "")))).join(" ")).toContain("NOAUTH");
    await engine.remove(release);
  });

  test("PostgreSQL with a configuration that it cannot read ends, and its log says why", async () => {
    const sent = { postgres_conf: "max_connections = many" };
    const release = databaseReleases("postgresql", TEST_CLIENTS.postgresql.image, sent).next();
    await engine.start(release, io());
    await eventually(async () => expect((await engine.inspect(release))?.restartCount).toBeGreaterThan(0));
    const lines: string[] = [];
    for await (const { line } of engine.logs(release, { lines: 50 })) lines.push(line);
    expect(lines.join("\n")).toContain('invalid value for parameter "max_connections": "many"');
    await engine.remove(release);
  });
});
