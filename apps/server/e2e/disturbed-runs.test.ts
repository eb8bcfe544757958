import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { assertTook, describeDocker, type S3Server, startS3Server, took, until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { deployFirst, made, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer, execIn } from "./docker.fixture.ts";
import { engineObjectsOf } from "./engine-objects.fixture.ts";
import { type PausableEndpoint, pausableEndpoint } from "./pausable-endpoint.fixture.ts";

interface ReportedRun {
  readonly uuid: string;
  readonly status: "running" | "success" | "failed";
  readonly message: string | null;
  readonly error_details: string | null;
  readonly filename: string | null;
}

/** Records that it ran, and takes longer than any test. */
const COMMAND = "echo ran >>/data/runs; sleep 27182";
const COMPOSE = `
services:
  worker:
    image: busybox:stable
    init: true
    command: ["sleep", "86400"]
    volumes: ["data:/data"]
volumes: { data: }
`;
const ROWS = 1000;
/** Enough data that uploads and restores are still running when they are disturbed. */
const BALLAST_ROWS = 200_000;
const BREAK_OFF_MS_MAX = 5000;
/** Shorter than the runs would take. */
const DELETE_MS_MAX = 30_000;

describeDocker("backups, restores and tasks that run", ["postgres:17-alpine", "busybox:stable"], (docker) => {
  let server: DockerServer;
  let s3: S3Server;
  let gate: PausableEndpoint;
  let database: string;
  let service: string;
  let storage: string;
  let good: { readonly schedule: string; readonly execution: string };

  const ask = async <T = { uuid: string }>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await server.rest(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body as T;
  };
  const sql = (...statements: string[]) => {
    const login = ["--username=postgres", "--dbname=shop", "--quiet", "--no-align", "--tuples-only"];
    return execIn(docker, database, ["psql", ...login, ...statements.map((statement) => `--command=${statement}`)]);
  };
  const rows = async () => Number(await sql("select count(*) from orders"));
  const backups = () => `/databases/${database}/backups`;
  const scheduled = async (settings: object) =>
    (await ask("POST", backups(), { frequency: "yearly", backup_now: true, ...settings })).uuid;
  const executions = async (schedule: string) =>
    (await ask<{ executions: ReportedRun[] }>("GET", `${backups()}/${schedule}/executions`)).executions;
  const endedBackup = (schedule: string, count = 1) =>
    until(
      async () => {
        const all = await executions(schedule);
        return all.length >= count && all.every(({ status }) => status !== "running") ? all[0] : undefined;
      },
      { seconds: 90 },
    );
  const restores = () => ask<ReportedRun[]>("GET", `/databases/${database}/restores`);
  const tasks = () => `/services/${service}/scheduled-tasks`;
  const taskRuns = (task: string) => ask<ReportedRun[]>("GET", `${tasks()}/${task}/executions`);
  const ran = async () => Number(await execIn(docker, service, ["sh", "-c", "wc -l </data/runs"]));
  const folder = () => join(server.dataFolder, "backups", database);
  const containersOf = (uuid: string) =>
    docker.client.listContainers({ all: true, filters: { label: [`berth.resource=${uuid}`] } });

  /** Waits until a restore waits for the locked table. */
  async function locked(): Promise<void> {
    void sql("begin", "lock table orders", "select pg_sleep(3600)").catch(() => undefined);
    await until(async () => (await sessions("pg_sleep")) === 1);
  }
  const sessions = async (query: string) =>
    Number(
      await sql(
        `select count(*) from pg_stat_activity where query like '%${query}%' and pid <> pg_backend_pid() and state <> 'idle'`,
      ),
    );
  const unlock = () =>
    sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()",
    );
  const waiting = () =>
    until(async () => (await sql("select count(*) from pg_locks where not granted")) !== "0", { seconds: 60 });

  /** The backup's file, once it is complete and being uploaded. */
  const fileOf = async (schedule: string) => {
    const [run] = await executions(schedule);
    return run?.filename != null && existsSync(run.filename) ? run.filename : undefined;
  };

  /** A backup that is being uploaded, a restore and a task, each in the middle. */
  async function disturbable() {
    gate.close();
    const schedule = await scheduled({ save_s3: true, s3_storage_uuid: storage });
    await until(async () => (await fileOf(schedule)) !== undefined && gate.isAwaited(), { seconds: 60 });
    await locked();
    const { uuid: restore } = await ask(
      "POST",
      `${backups()}/${good.schedule}/executions/${good.execution}/restore`,
      {},
    );
    await waiting();
    const fields = { name: "endless", command: COMMAND, frequency: "yearly", timeout: 3600 };
    const { uuid: task } = await ask("POST", tasks(), fields);
    const before = await ran();
    await ask("POST", `${tasks()}/${task}/run`);
    await until(async () => (await ran()) === before + 1);
    return { schedule, restore, task, before };
  }

  beforeAll(async () => {
    s3 = await startS3Server();
    gate = await pausableEndpoint(s3.endpoint);
    server = await dockerServer(docker, { env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
    const where = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
    const image = {
      image: "postgres:17-alpine",
      postgres_db: "shop",
      health_check_interval: 1,
      health_check_retries: 60,
    };
    [database, service] = await Promise.all([
      made(server, "/databases/postgresql", { ...where, ...image }),
      made(server, "/services", { ...where, docker_compose: COMPOSE }),
    ]);
    await Promise.all([database, service].map((uuid) => deployFirst(server, uuid)));
    const random = "md5(random()::text) || md5(random()::text) as what";
    await sql(
      `create table orders as select i as id, 'order ' || i as what from generate_series(1, ${ROWS}) i`,
      `create table ballast as select i as id, ${random} from generate_series(1, ${BALLAST_ROWS}) i`,
    );
    await execIn(docker, service, ["touch", "/data/runs"]);
    const { bucket, key, secret } = s3;
    const login = { name: "Far away", region: "eu-central-1", bucket, endpoint: gate.endpoint, key, secret };
    ({ uuid: storage } = await ask("POST", "/s3-storages", login));
    const schedule = await scheduled({});
    const { uuid: execution, status } = await endedBackup(schedule);
    expect(status).toBe("success");
    good = { schedule, execution };
  });
  afterAll(async () => {
    gate?.open();
    await server?.dispose();
    await gate?.dispose();
    await s3?.close();
  });

  // Cleans up after a failed try.
  beforeEach(async () => {
    gate.open();
    await unlock();
  });

  test("when the control plane is killed end as failed, leave nothing half, and are not begun again", async () => {
    const { schedule, execution } = good;
    await sql("delete from orders where id > 10");
    const files = readdirSync(folder());
    const known = new Set((await restores()).map(({ uuid }) => uuid));
    const objects = s3.objects();
    const running = await disturbable();
    const { uuid: drill } = await ask("POST", `${backups()}/${schedule}/executions/${execution}/drill`);
    await until(async () => (await containersOf(drill)).length > 0);

    await server.kill();
    gate.open();
    await unlock();
    await server.start();
    const left = "The control plane stopped while it ran.";
    expect(await endedBackup(running.schedule)).toMatchObject({ status: "failed", message: left });
    const found = await until(async () => {
      const all = (await restores()).filter(({ uuid }) => !known.has(uuid));
      return all.every(({ status }) => status !== "running") ? all : undefined;
    });
    expect(found.map(({ uuid, status, message }) => [uuid, status, message])).toEqual([
      [drill, "failed", expect.stringContaining(left)],
      [running.restore, "failed", expect.stringContaining(left)],
    ]);
    const [task] = await until(async () => {
      const all = await taskRuns(running.task);
      return all.every(({ status }) => status !== "running") ? all : undefined;
    });
    expect(task).toMatchObject({ status: "failed", error_details: `${left} Whether it took effect is not known.` });

    // An incomplete restore is undone, an incomplete backup deleted, and work with possible effects is not repeated.
    await until(async () => (await sessions("COPY")) === 0);
    expect(await rows()).toBe(10);
    await until(() => s3.objects().length === objects.length);
    await until(() => readdirSync(folder()).length === files.length);
    expect(readdirSync(folder())).toEqual(files);
    await until(async () => (await containersOf(drill)).length === 0);
    expect(await executions(running.schedule)).toHaveLength(1);
    expect(await taskRuns(running.task)).toHaveLength(1);
    expect(await ran()).toBe(running.before + 1);

    await ask("PATCH", `${backups()}/${running.schedule}`, { backup_now: true });
    expect(await endedBackup(running.schedule, 2)).toMatchObject({ status: "success" });
    expect(s3.objects()).toHaveLength(objects.length + 1);
    await ask("POST", `${backups()}/${schedule}/executions/${execution}/restore`, {});
    await until(async () => (await restores())[0]?.status === "success", { seconds: 60 });
    expect(await rows()).toBe(ROWS);
  });

  test("are broken off within 5 seconds when they are deleted, and with what they are of, and leave nothing", async () => {
    await sql("delete from orders where id > 10");
    const objects = s3.objects();
    gate.close();
    const deleted = await scheduled({ save_s3: true, s3_storage_uuid: storage });
    const file = await until(() => fileOf(deleted), { seconds: 60 });
    const running = await disturbable();
    const { uuid: drill } = await ask("POST", `${backups()}/${good.schedule}/executions/${good.execution}/drill`);
    await until(async () => (await containersOf(drill)).length > 0);
    // As documented, commands of killed control planes continue.
    const sleeping = async () =>
      Number(await execIn(docker, service, ["sh", "-c", "ps | grep -c '[s]leep 27182' || true"]));
    const lives = await sleeping();

    const within = async (work: () => Promise<unknown>, isGone: () => Promise<boolean> | boolean) => {
      const breakOff = async () => {
        await work();
        await until(isGone);
      };
      await assertTook(await took(breakOff), BREAK_OFF_MS_MAX);
    };
    await within(
      () => ask("DELETE", `${backups()}/${deleted}?delete_s3=true`),
      () => !existsSync(file),
    );
    await within(
      () => ask("DELETE", `${tasks()}/${running.task}`),
      async () => (await sleeping()) < lives,
    );

    const { uuid: task } = await ask("POST", tasks(), { name: "more", command: COMMAND, frequency: "yearly" });
    await ask("POST", `${tasks()}/${task}/run`);
    await until(async () => (await sleeping()) === lives);
    const paths = [`/databases/${database}`, `/services/${service}`];
    await Promise.all(
      paths.map(async (path) => {
        await ask("DELETE", `${path}?delete_volumes=${path === paths[0]}`);
        await until(async () => (await server.rest("GET", path)).status === 404, { seconds: DELETE_MS_MAX / 1000 });
      }),
    );
    await until(async () => (await containersOf(drill)).length === 0);
    await until(() => !existsSync(folder()) || readdirSync(folder()).length === 0);
    // No one waits for the paused requests any more.
    gate.open();
    await until(() => s3.objects().length === objects.length);
    const left = (await engineObjectsOf(docker)).filter(
      ({ what, resource }) => what !== "image" && resource !== undefined,
    );
    expect(left).toEqual([expect.objectContaining({ what: "volume", resource: service })]);
  });
});
