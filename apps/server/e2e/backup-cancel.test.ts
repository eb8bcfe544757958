import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { assertTook, describeDocker, type S3Server, startS3Server, took, until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { deployFirst, made, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer, execIn } from "./docker.fixture.ts";
import { engineObjectsOf, isOf } from "./engine-objects.fixture.ts";
import { type PausableEndpoint, pausableEndpoint } from "./pausable-endpoint.fixture.ts";

interface ReportedRun {
  readonly uuid: string;
  readonly status: string;
  readonly step: string | null;
  readonly message: string | null;
  readonly filename: string | null;
  readonly finished_at: string | null;
}

const ROWS = 1000;
/** Enough data that an upload is still running when it is cancelled. */
const BALLAST_ROWS = 200_000;
const CANCEL_MS_MAX = 5000;
/** Duration of `nothingRuns` on an idle machine. */
const _LOOK_MS = 250;
const AS_IT_WAS = "Cancelled by a user. The restore's transaction was rolled back, so the database is unchanged.";
const NOTHING_KEPT = {
  ...{ message: "Cancelled by a user. Nothing of it was kept.", size: null },
  local_storage_deleted: true,
};
const ENDLESS = "select pg_sleep(3600)";

interface Saved {
  readonly schedule: string;
  readonly execution: string;
}

describeDocker("a backup, restore or drill that is cancelled", ["postgres:17-alpine"], (docker) => {
  let server: DockerServer;
  let s3: S3Server;
  let gate: PausableEndpoint;
  let database: string;
  let storage: string;
  let good: Saved;
  /** The backup of all databases. */
  let whole: Saved;

  const ask = async <T = { uuid: string }>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await server.rest(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body as T;
  };
  const sqlIn = (uuid: string, ...statements: string[]) => {
    const login = ["--username=postgres", "--dbname=shop", "--quiet", "--no-align", "--tuples-only"];
    return execIn(docker, uuid, ["psql", ...login, ...statements.map((statement) => `--command=${statement}`)]);
  };
  const sql = (...statements: string[]) => sqlIn(database, ...statements);
  const backups = () => `/databases/${database}/backups`;
  const scheduled = async (settings: object = {}) =>
    (await ask("POST", backups(), { frequency: "yearly", backup_now: true, ...settings })).uuid;
  /** All fields of each execution. */
  const executions = async (schedule: string) => {
    const all = await ask<{ uuid: string; executions: ReportedRun[] }[]>("GET", backups());
    return all.find(({ uuid }) => uuid === schedule)?.executions ?? [];
  };
  const begun = (schedule: string) => until(async () => (await executions(schedule))[0]);
  const executionOf = async (schedule: string, wanted: string) =>
    (await executions(schedule)).find(({ uuid }) => uuid === wanted);
  const restoreOf = (uuid: string) => ask<ReportedRun>("GET", `/databases/${database}/restores/${uuid}`);
  const asked = async (kind: "restore" | "drill") => {
    const path = `${backups()}/${good.schedule}/executions/${good.execution}/${kind}`;
    return (await ask("POST", path, kind === "restore" ? {} : undefined)).uuid;
  };
  const folder = () => join(server.dataFolder, "backups");
  const files = () => (existsSync(folder()) ? readdirSync(folder(), { recursive: true, encoding: "utf8" }) : []);
  const filesBut = (kept: readonly string[]) => files().filter((name) => !kept.includes(name));

  /** Remains of a run: statements, processes and programs in the database, its container and its server. */
  const ofRuns = async () => {
    const programs = await execIn(docker, database, ["sh", "-c", "cat /proc/[0-9]*/comm 2>/dev/null; true"]);
    const sessions = await sql("select count(*) from pg_stat_activity where application_name like 'berth-%'");
    return programs.split("\n").filter((name) => /^pg_(dump|restore)/.test(name)).length + Number(sessions);
  };
  const nothingRuns = async () => (await ofRuns()) === 0;
  /** Whether the run executes a statement that would take an hour. */
  const stands = (uuid: string, what: string) =>
    until(
      async () => {
        const found = `select count(*) from pg_stat_activity where application_name like 'berth-%' and ${what}`;
        return (await sqlIn(uuid, found).catch(() => "0")) !== "0";
      },
      { seconds: 60 },
    );

  /** Cancels a run, and checks that all of it ends soon. Returns the shown messages. */
  async function cancelled(path: string, find: () => Promise<ReportedRun | undefined>, isGone: () => Promise<boolean>) {
    const ms = await took(async () => {
      await ask("POST", `${path}/cancel`);
      await until(isGone);
    });
    await assertTook(ms, CANCEL_MS_MAX);
    const run = await until(async () => {
      const found = await find();
      return found?.status === "running" ? undefined : found;
    });
    expect(run).toMatchObject({ status: "cancelled-by-user", step: null });
    const again = await server.rest("POST", `${path}/cancel`);
    expect(again).toMatchObject({ status: 400, body: { code: "backup.not_cancellable" } });
    expect(JSON.stringify(again.body)).toContain("Current status: cancelled-by-user");
    return run;
  }
  const cancelledRestore = (uuid: string, isGone: () => Promise<boolean>) =>
    cancelled(`/databases/${database}/restores/${uuid}`, () => restoreOf(uuid), isGone);
  const cancelledBackup = (schedule: string, uuid: string, isGone: () => Promise<boolean>) =>
    cancelled(`${backups()}/${schedule}/executions/${uuid}`, () => executionOf(schedule, uuid), isGone);

  beforeAll(async () => {
    s3 = await startS3Server();
    gate = await pausableEndpoint(s3.endpoint);
    server = await dockerServer(docker, { env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
    const where = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
    const image = { image: "postgres:17-alpine", postgres_db: "shop", health_check_interval: 1 };
    database = await made(server, "/databases/postgresql", { ...where, ...image, health_check_retries: 60 });
    await deployFirst(server, database);
    const body = (work: string) => `create or replace function endless(int) returns boolean language plpgsql as
      $$ begin ${work}; return true; end $$`;
    await sql(
      `create table orders as select i as id, 'order ' || i as what from generate_series(1, ${ROWS}) i`,
      `create table ballast as select i as id, md5(random()::text) || md5(random()::text) as what
        from generate_series(1, ${BALLAST_ROWS}) i`,
      // After the backup, restoring a single row takes an hour.
      body("null"),
      "create table slow (id int check (endless(id)))",
      "insert into slow values (1)",
      body("perform pg_sleep(3600)"),
    );
    const { bucket, key, secret } = s3;
    const login = { name: "Far away", region: "eu-central-1", bucket, endpoint: gate.endpoint, key, secret };
    ({ uuid: storage } = await ask("POST", "/s3-storages", login));
    const saved = async (settings: object): Promise<Saved> => {
      const schedule = await scheduled(settings);
      const execution = await until(
        async () => {
          const [run] = await executions(schedule);
          return run?.status === "running" ? undefined : run;
        },
        { seconds: 60 },
      );
      expect(execution).toMatchObject({ status: "success", message: null });
      return { schedule, execution: execution.uuid };
    };
    [good, whole] = await Promise.all([saved({}), saved({ dump_all: true })]);
    await sql("delete from orders where id > 10");
  });
  afterAll(async () => {
    gate?.open();
    await server?.dispose();
    await gate?.dispose();
    await s3?.close();
  });

  // Cleans up after a failed try.
  beforeEach(async () => {
    const restores = await ask<ReportedRun[]>("GET", `/databases/${database}/restores`);
    const schedules = await ask<{ uuid: string; executions: ReportedRun[] }[]>("GET", backups());
    const runs = [
      ...restores.map((run) => ({ ...run, path: `/databases/${database}/restores/${run.uuid}` })),
      ...schedules.flatMap(({ uuid, executions }) =>
        executions.map((run) => ({ ...run, path: `${backups()}/${uuid}/executions/${run.uuid}` })),
      ),
    ];
    for (const { path } of runs.filter(({ status }) => status === "running")) {
      await until(async () => (await server.rest("POST", `${path}/cancel`)).status === 400);
    }
  });

  test("in the middle of a restore ends within 5 seconds, with what the server did for it, and nothing is changed", async () => {
    const kept = files();
    const restore = await asked("restore");
    await stands(database, "wait_event = 'PgSleep'");
    const { message } = await cancelledRestore(restore, nothingRuns);
    expect(message).toBe(AS_IT_WAS);
    expect(await sql("select count(*) from orders")).toBe("10");
    expect(filesBut(kept)).toEqual([]);
  });

  test("in the middle of a drill ends within 5 seconds, and leaves neither container nor volume", async () => {
    const kept = files();
    const drill = await asked("drill");
    await until(async () => (await restoreOf(drill)).step === "restoring", { seconds: 90 });
    const { message } = await cancelledRestore(drill, async () => !(await engineObjectsOf(docker)).some(isOf(drill)));
    expect(message).toBe("Cancelled by a user. The original database was not changed.");
    expect(filesBut(kept)).toEqual([]);
  });

  test("while it waits for a lock that somebody holds keeps nothing of a backup", async () => {
    const kept = files();
    void sql("begin", "lock table orders", ENDLESS).catch(() => undefined);
    try {
      await until(async () => (await sql(`select count(*) from pg_stat_activity where query = '${ENDLESS}'`)) !== "0");
      const schedule = await scheduled();
      const { uuid } = await begun(schedule);
      await stands(database, "wait_event_type = 'Lock'");
      const gone = async () => (await nothingRuns()) && filesBut(kept).length === 0;
      expect(await cancelledBackup(schedule, uuid, gone)).toMatchObject(NOTHING_KEPT);
    } finally {
      await sql(`select pg_terminate_backend(pid) from pg_stat_activity where query = '${ENDLESS}'`);
    }
  });

  test("while it is sent away keeps nothing of a backup, and the schedule continues", async () => {
    const kept = files();
    gate.close();
    const schedule = await scheduled({ save_s3: true, s3_storage_uuid: storage });
    const { uuid } = await begun(schedule);
    const objects = () => s3.objects().filter((key) => key.includes(uuid));
    try {
      await until(() => gate.isAwaited(), { seconds: 60 });
      expect(filesBut(kept)).toEqual([expect.stringContaining(uuid)]);
      const gone = async () => filesBut(kept).length === 0 && objects().length === 0;
      expect(await cancelledBackup(schedule, uuid, gone)).toMatchObject({ ...NOTHING_KEPT, s3_uploaded: false });
    } finally {
      gate.open();
    }
    await ask("PATCH", `${backups()}/${schedule}`, { backup_now: true });
    const next = await until(async () => (await executions(schedule)).find(({ status }) => status === "success"), {
      seconds: 90,
    });
    expect(s3.objects()).toContainEqual(expect.stringContaining(next.uuid));
    // Interrupted requests did not arrive after the endpoint was resumed.
    expect(objects()).toEqual([]);
  });

  test("in the middle of a restore of all databases says that some is left, and lets everybody in again", async () => {
    const path = `${backups()}/${whole.schedule}/executions/${whole.execution}/restore`;
    const { uuid: restore } = await ask("POST", path, {});
    await stands(database, "wait_event = 'PgSleep'");
    const { message } = await cancelledRestore(restore, nothingRuns);
    expect(message).toMatch(/contains parts of the backup .* Restore a backup before you use it\.$/);
    const closed = "select count(*) from pg_database where not datallowconn and datname <> 'template0'";
    expect(await sql(closed)).toBe("0");
    expect(await sql("select count(*) from slow")).toBe("0");
    // Everything is restored, including passwords of users.
    const { internal_db_url } = await ask<{ internal_db_url: string }>("GET", `/databases/${database}`);
    expect(await execIn(docker, database, ["psql", internal_db_url, "-Atc", "select 1"])).toBe("1");
  });
});
