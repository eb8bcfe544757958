import type { Argv } from "@berth/core";
import { DATABASE_ENGINES } from "@berth/core/database";
import { describeLargeDocker, mysqlLogin, TEST_CLIENTS, type TestContainer, until } from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { clientContainer, databaseCalls, type ShownDatabase } from "./database.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";
import { freePorts } from "./server.fixture.ts";

const AUTHORITY = "/tmp/ca.crt";
const FOREIGN = "/tmp/foreign.crt";
const IMAGES = ["postgres:17-alpine", "mariadb:11", "mysql:8", "redis:8-alpine", "nginx:alpine"];

interface TlsClient {
  readonly image: string;
  /** Verifies the database's certificate against an authority. */
  verified(url: string, authority: string): Argv;
  plain(url: string): Argv;
  /** The client's message about a database that requires TLS. */
  readonly refusal: string;
}

const mysql = (program: string, url: string, ...args: string[]): Argv => [
  ...mysqlLogin(program, url),
  ...args,
  "--execute=SELECT 'in'",
];

const CLIENTS: Readonly<Record<"postgresql" | "mariadb" | "mysql" | "redis", TlsClient>> = {
  postgresql: {
    image: TEST_CLIENTS.postgresql.image,
    verified: (url, authority) => [
      "psql",
      `${url.replace("sslmode=require", "sslmode=verify-full")}&sslrootcert=${authority}`,
      ...["-Atc", "SELECT 'in'"],
    ],
    plain: (url) => ["psql", url.replace("sslmode=require", "sslmode=disable"), "-Atc", "SELECT 'in'"],
    refusal: "no encryption",
  },
  mariadb: {
    image: TEST_CLIENTS.mariadb.image,
    verified: (url, authority) => mysql("mariadb", url, `--ssl-ca=${authority}`, "--ssl-verify-server-cert"),
    plain: (url) => mysql("mariadb", url, "--skip-ssl"),
    refusal: "insecure transport",
  },
  mysql: {
    image: TEST_CLIENTS.mysql.image,
    verified: (url, authority) => mysql("mysql", url, `--ssl-ca=${authority}`, "--ssl-mode=VERIFY_IDENTITY"),
    plain: (url) => mysql("mysql", url, "--ssl-mode=DISABLED"),
    refusal: "insecure transport",
  },
  redis: {
    image: TEST_CLIENTS.redis.image,
    verified: (url, authority) => ["redis-cli", "--no-auth-warning", "--cacert", authority, "-u", url, "ECHO", "in"],
    plain: (url) => ["redis-cli", "--no-auth-warning", "-u", url.replace("rediss:", "redis:"), "ECHO", "in"],
    // The stand-in does not know the client's message.
    refusal: "Error: ",
  },
};

describeLargeDocker("a database that offers TLS", IMAGES, (docker) => {
  let server: DockerServer;
  const network = docker.name("tls");
  beforeAll(async () => {
    server = await dockerServer(docker, { env: { BERTH_DOCKER_NETWORK: network } });
  });
  afterAll(async () => server?.dispose());
  const clients: TestContainer[] = [];
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(({ container }) => container.remove({ force: true, v: true })));
  });
  const { done, show, shows, create, run } = databaseCalls(() => server);
  const clientIn = async (image: string, networkMode: string) => {
    const client = await clientContainer(docker, image, networkMode);
    clients.push(client);
    return client;
  };

  /** Clients inside and outside of the network, with the authorities of this database and of another one. */
  const clientsOf = async (image: string, { ca_certificate }: ShownDatabase, foreign: string) => {
    const both = await Promise.all([network, "host"].map((mode) => clientIn(image, mode)));
    const texts = [[AUTHORITY, ca_certificate ?? ""] as const, [FOREIGN, foreign] as const];
    for (const client of both) {
      for (const [path, text] of texts) await client.exec(["sh", "-c", 'printf %s "$1" >"$2"', "sh", text, path]);
    }
    const [inside, outside] = both;
    if (inside === undefined || outside === undefined) throw new Error("There are two of them.");
    return { inside, outside };
  };
  const says = async (client: TestContainer, argv: Argv) => {
    const { exitCode, output } = await client.exec(argv);
    return `${exitCode} ${output.trim()}`;
  };

  test.each(Object.entries(CLIENTS))(
    "%s proves itself by both of its URLs, and refuses clients without TLS",
    async (engine, client) => {
      const { image, verified, plain, refusal } = client;
      const [public_port] = await freePorts(1);
      const [uuid, other] = [
        await create(engine, image, { enable_ssl: true, is_public: true, public_port }),
        await create(engine, image, { enable_ssl: true, instant_deploy: false }),
      ];
      const shown = await shows(uuid, "running:healthy");
      const foreign = (await show(other)).ca_certificate ?? "";
      expect(foreign).toMatch(/^-----BEGIN CERTIFICATE-----\n/);
      const { inside, outside } = await clientsOf(image, shown, foreign);
      const ways = [
        [inside, shown.internal_db_url],
        [outside, shown.external_db_url ?? ""],
      ] as const;
      for (const [from, url] of ways) {
        await until(async () => (await says(from, verified(url, AUTHORITY))) === "0 in" || undefined);
        expect(await says(from, verified(url, FOREIGN))).not.toMatch(/^0/);
        const answer = await says(from, plain(url));
        expect(answer).not.toContain("0 in");
        expect(answer).toContain(refusal);
      }
      if (DATABASE_ENGINES[engine as keyof typeof CLIENTS].dumps === null) return;
      const { uuid: schedule } = await done("POST", `/databases/${uuid}/backups`, {
        frequency: "yearly",
        backup_now: true,
      });
      const path = `/databases/${uuid}/backups/${schedule}/executions`;
      const [execution] = await until(
        async () => {
          const { executions } = await done<{ executions: { uuid: string; status: string; message: string }[] }>(
            "GET",
            path,
          );
          return executions.some(({ status }) => status !== "running") ? executions : undefined;
        },
        { seconds: 60 },
      );
      expect(execution).toMatchObject({ status: "success", message: null });
      const drill = await done("POST", `${path}/${execution?.uuid}/drill`);
      const ended = await until(
        async () => {
          const found = await done("GET", `/databases/${uuid}/restores/${drill.uuid}`);
          return found.status === "running" ? undefined : found;
        },
        { seconds: 60 },
      );
      expect(ended).toMatchObject({ status: "success", message: null });
    },
  );

  test("is made of one that did not, with its data, at its next start, and back", async () => {
    const { image, plain, verified } = CLIENTS.postgresql;
    const uuid = await create("postgresql", image);
    const before = await shows(uuid, "running:healthy");
    const asked = (url: string, sql: string) => ["psql", url, "--quiet", "-Atc", sql] as const;
    const client = await clientIn(image, network);
    expect(await says(client, asked(before.internal_db_url, "CREATE TABLE t AS SELECT 'kept' AS v"))).toMatch(/^0/);

    await done("PATCH", `/databases/${uuid}`, { enable_ssl: true, ssl_mode: "prefer" });
    expect((await run(uuid, "restart")).status).toBe("finished");
    const lenient = await shows(uuid, "running:healthy");
    expect(lenient.internal_db_url).toBe(`${before.internal_db_url}?sslmode=prefer`);
    expect(
      await says(client, asked(lenient.internal_db_url, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")),
    ).toBe("0 t");
    expect(await says(client, asked(`${before.internal_db_url}?sslmode=disable`, "SELECT v FROM t"))).toBe("0 kept");

    await done("PATCH", `/databases/${uuid}`, { ssl_mode: "require" });
    expect((await run(uuid, "restart")).status).toBe("finished");
    const strict = await shows(uuid, "running:healthy");
    expect(strict.ca_certificate).toBe(lenient.ca_certificate);
    const { inside } = await clientsOf(image, strict, "");
    expect(await says(inside, verified(strict.internal_db_url, AUTHORITY))).toBe("0 in");
    expect(await says(inside, plain(strict.internal_db_url))).toContain("no encryption");

    await done("PATCH", `/databases/${uuid}`, { enable_ssl: false });
    expect((await run(uuid, "restart")).status).toBe("finished");
    const after = await shows(uuid, "running:healthy");
    expect(after.internal_db_url).toBe(before.internal_db_url);
    expect(await says(client, asked(`${after.internal_db_url}?sslmode=disable`, "SELECT v FROM t"))).toBe("0 kept");
  });
});
