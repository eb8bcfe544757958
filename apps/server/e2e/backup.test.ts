import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describeDocker, type S3Server, startS3Server, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

interface Execution {
  readonly uuid: string;
  readonly status: "running" | "success" | "failed";
  readonly message: string | null;
  readonly size: string | null;
  readonly filename: string | null;
  readonly duration: number | null;
}
interface Restore {
  readonly status: "running" | "success" | "failed";
  readonly message: string | null;
  readonly tables: readonly { readonly name: string; readonly rows: number | null }[] | null;
}

describeDocker("backups of a database", ["postgres:17-alpine"], (docker) => {
  let server: DockerServer;
  let s3: S3Server;
  let path: string;
  let uuid: string;
  let storage: string;

  const ask = async <T = { uuid: string }>(method: string, at: string, body?: unknown): Promise<T> => {
    const answer = await server.rest(method, at, body);
    expect(answer.status, `${method} ${at}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body as T;
  };
  /** Runs a statement in the current container. */
  const sql = async (statement: string): Promise<string> => {
    const filters = { label: [`berth.resource=${uuid}`], status: ["running"] };
    const [container] = await docker.client.listContainers({ filters });
    const argv = ["exec", container?.Id ?? "", "psql", "--username=postgres", "--dbname=shop", "-At", "-c", statement];
    return execFileSync("docker", argv, { encoding: "utf8" }).trim();
  };
  const executions = async (schedule: string) =>
    (await ask<{ executions: Execution[] }>("GET", `${path}/backups/${schedule}/executions`)).executions;
  const ended = (schedule: string, count = 1) =>
    until(
      async () => {
        const all = await executions(schedule);
        return all.length >= count && all.every(({ status }) => status !== "running") ? all[0] : undefined;
      },
      { seconds: 90 },
    );
  const schedule = async (settings: object) =>
    (await ask("POST", `${path}/backups`, { frequency: "yearly", backup_now: true, ...settings })).uuid;
  const restored = async (kind: "restore" | "drill", schedule: string, execution: string): Promise<Restore> => {
    const at = `${path}/backups/${schedule}/executions/${execution}/${kind}`;
    const { uuid: restore } = await ask("POST", at, kind === "restore" ? {} : undefined);
    return await until(
      async () => {
        const found = await ask<Restore>("GET", `${path}/restores/${restore}`);
        return found.status === "running" ? undefined : found;
      },
      { seconds: 90 },
    );
  };

  beforeAll(async () => {
    s3 = await startS3Server();
    server = await dockerServer(docker, { env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
    const { uuid: project_uuid } = await ask("POST", "/projects", { name: "Shop" });
    ({ uuid } = await ask("POST", "/databases/postgresql", {
      ...{ server_uuid: server.dockerUuid, project_uuid, environment_name: "production", instant_deploy: true },
      ...{ image: "postgres:17-alpine", postgres_db: "shop" },
    }));
    path = `/databases/${uuid}`;
    await until(async () => (await ask<{ status: string }>("GET", path)).status === "running:healthy", {
      seconds: 120,
    });
    await sql("create table orders as select i as id, 'order ' || i as what from generate_series(1, 1000) i");
    const { bucket, endpoint, key, secret } = s3;
    const login = { name: "Far away", region: "eu-central-1", bucket, endpoint, key, secret };
    ({ uuid: storage } = await ask("POST", "/s3-storages", login));
  });
  afterAll(async () => {
    await server?.dispose();
    await s3?.close();
  });

  test("are made, proved, and bring back what was deleted by mistake", async () => {
    const made = await schedule({ save_s3: true, s3_storage_uuid: storage });
    const backup = await ended(made);
    expect(backup).toMatchObject({ status: "success", message: null, duration: expect.any(Number) });
    expect(Number(backup.size)).toBeGreaterThan(1000);
    expect(backup.filename).toContain(join(server.dataFolder, "backups", uuid));
    expect(s3.objects()).toEqual([expect.stringContaining(backup.uuid)]);

    const drill = await restored("drill", made, backup.uuid);
    expect(drill).toMatchObject({ status: "success", message: null });
    expect(drill.tables).toEqual([{ name: "public.orders", rows: 1000, expected_rows: 1000 }]);

    await sql("delete from orders");
    expect(await restored("restore", made, backup.uuid)).toMatchObject({ status: "success", message: null });
    expect(await sql("select count(*) from orders")).toBe("1000");
    // The drill left nothing on the engine: all objects belong to the database.
    const filters = { label: [`berth.instance=${docker.instance}`, "berth.resource"] };
    const left = await docker.client.listContainers({ all: true, filters });
    expect(left.map(({ Labels }) => Labels["berth.resource"])).toEqual([uuid]);

    await ask("DELETE", `${path}/backups/${made}/executions/${backup.uuid}?delete_s3=true`);
    await until(() => s3.objects().length === 0 && !existsSync(backup.filename ?? ""));
  });

  test("are made on a schedule", async () => {
    const made = await schedule({ frequency: "every_minute", backup_now: false });
    expect(await ended(made)).toMatchObject({ status: "success" });
    await ask("DELETE", `${path}/backups/${made}`);
    await until(() => readdirSync(join(server.dataFolder, "backups", uuid)).length === 0);
  });

  test("fail with their reason: a wrong bucket, and a byte that changed there", async () => {
    const { endpoint, key, secret } = s3;
    const login = { name: "Nowhere", region: "eu-central-1", bucket: "missing", endpoint, key, secret };
    const { uuid: wrong } = await ask("POST", "/s3-storages", login);
    expect(await ended(await schedule({ save_s3: true, s3_storage_uuid: wrong }))).toMatchObject({
      ...{ status: "failed", message: expect.stringContaining("has no bucket missing") },
    });

    const made = await schedule({ save_s3: true, s3_storage_uuid: storage, disable_local_backup: true });
    const backup = await ended(made);
    expect(backup).toMatchObject({ status: "success" });
    s3.flipByte(s3.objects().find((name) => name.includes(backup.uuid)) ?? "");
    for (const kind of ["restore", "drill"] as const) {
      const refused = await restored(kind, made, backup.uuid);
      expect(refused).toMatchObject({ status: "failed", message: expect.stringContaining("is damaged") });
    }
    expect(await sql("select count(*) from orders")).toBe("1000");
  });

  test("that a killed control plane was making end as failed, and leave nothing behind", async () => {
    await sql(
      "create table if not exists many as select i, md5(random()::text) as a from generate_series(1, 3000000) i",
    );
    const made = await schedule({});
    const folder = join(server.dataFolder, "backups", uuid);
    await until(() => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith(".part")));
    await server.kill();
    await server.start();
    expect(await ended(made)).toMatchObject({
      status: "failed",
      message: expect.stringContaining("control plane stopped"),
    });
    await until(() => !readdirSync(folder).some((name) => name.endsWith(".part")));
    expect(await sql("select count(*) from orders")).toBe("1000");

    await ask("PATCH", `${path}/backups/${made}`, { backup_now: true });
    const { uuid: backup } = await ended(made, 2);
    const { uuid: drill } = await ask("POST", `${path}/backups/${made}/executions/${backup}/drill`);
    const scratch = () => docker.client.listContainers({ all: true, filters: { label: [`berth.resource=${drill}`] } });
    await until(async () => (await scratch()).length > 0);
    await server.kill();
    await server.start();
    const found = await until(async () => {
      const now = await ask<Restore>("GET", `${path}/restores/${drill}`);
      return now.status === "running" ? undefined : now;
    });
    expect(found).toMatchObject({ status: "failed", message: expect.stringContaining("control plane stopped") });
    await until(async () => (await scratch()).length === 0);
  });
});
