import {
  assertTook,
  describeLargeDocker,
  type ServerContainer,
  startServerContainer,
  TEST_CLIENTS,
  until,
} from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseCalls } from "./database.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const { image, write, read } = TEST_CLIENTS.postgresql;
const CANCEL_MS_MAX = 5000;

describeLargeDocker("a database on a server over SSH", ["server:debian13", image, "nginx:alpine"], (docker) => {
  let server: TestServer;
  let machine: ServerContainer;
  let dockerUuid: string;
  /** A new port for each attempt, since an existing database occupies its port. */
  let port = 15_432;
  beforeAll(async () => {
    [server, machine] = await Promise.all([testServer(), startServerContainer(docker)]);
    await machine.loadImages(image, "nginx:alpine");
    const key = await server.rest("POST", "/security/keys", { name: "db", private_key: machine.keys.privateKey });
    const { status, body } = await server.rest("POST", "/servers", {
      ...{ name: "db-1", ip: machine.address, proxy_type: "none", instant_validate: true },
      private_key_uuid: (key.body as { uuid: string }).uuid,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    dockerUuid = (body as { uuid: string }).uuid;
    await until(
      async () => {
        const { body: shown } = await server.rest("GET", `/servers/${dockerUuid}`);
        return (shown as { is_usable: boolean }).is_usable || undefined;
      },
      { seconds: 60 },
    );
  });
  afterAll(async () => server?.dispose());

  test("is reached by its public URL, keeps what was written, and is saved and restored", async () => {
    const { done, create, shows, run } = databaseCalls(() => ({ ...server, dockerUuid }));
    port += 1;
    const uuid = await create("postgresql", image, { is_public: true, public_port: port, enable_ssl: true });
    const { external_db_url } = await shows(uuid, "running:healthy");
    const url = external_db_url ?? "";
    expect(new URL(url).host).toBe(`${machine.address}:${port}`);
    const client = await docker.container({ image, raw: { Entrypoint: ["sleep", "600"] } });
    const ask = async (argv: readonly string[]) => {
      const { exitCode, output } = await client.exec(argv);
      return [exitCode, output.trim()];
    };
    await until(async () => (await ask(write(url, "kept")))[0] === 0 || undefined, { seconds: 60 });
    const outcome = await run(uuid, "restart");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    await shows(uuid, "running:healthy");
    await until(async () => (await ask(read(url)))[1] === "kept" || undefined, { seconds: 60 });

    const { uuid: schedule } = await done("POST", `/databases/${uuid}/backups`, {
      ...{ frequency: "yearly", backup_now: true },
    });
    const path = `/databases/${uuid}/backups/${schedule}/executions`;
    const [execution] = await until(
      async () => {
        const { executions } = await done<{ executions: { uuid: string; status: string }[] }>("GET", path);
        return executions.some(({ status }) => status !== "running") ? executions : undefined;
      },
      { seconds: 60 },
    );
    expect(execution).toMatchObject({ status: "success", message: null });
    expect((await ask(["psql", url, "-qc", "UPDATE t SET v = 'lost'"]))[0]).toBe(0);
    const restore = await done("POST", `${path}/${execution?.uuid}/restore`, {});
    const ended = await until(
      async () => {
        const found = await done("GET", `/databases/${uuid}/restores/${restore.uuid}`);
        return found.status === "running" ? undefined : found;
      },
      { seconds: 60 },
    );
    expect(ended).toMatchObject({ status: "success", message: null });
    expect(await ask(read(url))).toEqual([0, "kept"]);

    // Another session locks the table, so the run waits until it is cancelled.
    const holding = ["psql", url, "-qc", "BEGIN", "-c", "LOCK TABLE t", "-c", "SELECT pg_sleep(3600)"];
    // Continues until the containers are removed.
    void client.exec(holding).catch(() => undefined);
    const count = (what: string) => ask(["psql", url, "-Atqc", `SELECT count(*) FROM ${what}`]);
    await until(async () => (await count("pg_locks WHERE mode = 'AccessExclusiveLock'"))[1] === "1" || undefined);
    const again = await done("POST", `${path}/${execution?.uuid}/restore`, {});
    const going = "pg_stat_activity WHERE application_name LIKE 'berth-%'";
    await until(async () => (await count(`${going} AND wait_event_type = 'Lock'`))[1] === "1" || undefined, {
      seconds: 60,
    });
    const askedMs = Date.now();
    const cancelled = await done("POST", `/databases/${uuid}/restores/${again.uuid}/cancel`);
    await assertTook(Date.now() - askedMs, CANCEL_MS_MAX);
    expect(cancelled).toMatchObject({ status: "cancelled-by-user", detail: expect.stringContaining("rolled back") });
    expect(await count(going)).toEqual([0, "0"]);
  });
});
