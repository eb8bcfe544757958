import { endTestBackup, testBackup, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdDatabase, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const bucket = {
  ...{ name: "Backups", endpoint: "https://s3.example", bucket: "berth", region: "eu-central-1" },
  ...{ key: "AKEY", secret: "hush-hush" },
};
const createdBucket = async (): Promise<string> => (await api.ask("POST", "/s3-storages", { body: bucket })).json.uuid;

describe("backup schedules of a database", () => {
  test("are created, listed, changed and deleted", async () => {
    const path = `/databases/${await createdDatabase(api, { postgres_db: "shop" })}/backups`;
    const made = await api.ask("POST", path, { body: { frequency: "daily" } });
    expect([made.status, made.json]).toEqual([
      201,
      { uuid: expect.any(String), message: "Backup configuration created successfully." },
    ]);
    const listed = await api.ask("GET", path);
    expect(listed.json).toEqual([
      expect.objectContaining({
        uuid: made.json.uuid,
        enabled: true,
        frequency: "daily",
        save_s3: false,
        s3_storage_id: null,
        s3_storage_uuid: null,
        dump_all: false,
        databases_to_backup: "shop",
        database_type: "standalone-postgresql",
        database_backup_retention_amount_locally: 0,
        database_backup_retention_max_storage_s3: 0,
        timeout: 3600,
        executions: [],
      }),
    ]);
    const storage = await createdBucket();
    const change = {
      frequency: "0 3 * * 1",
      save_s3: true,
      s3_storage_uuid: storage,
      database_backup_retention_amount_locally: "7",
      database_backup_retention_max_storage_s3: "1.5",
      timeout: 60,
    };
    const changed = await api.ask("PATCH", `${path}/${made.json.uuid}`, { body: change });
    expect([changed.status, changed.json]).toEqual([200, { message: "Database backup configuration updated" }]);
    expect((await api.ask("GET", path)).json[0]).toMatchObject({
      frequency: "0 3 * * 1",
      save_s3: true,
      s3_storage_uuid: storage,
      databases_to_backup: "shop",
      database_backup_retention_amount_locally: 7,
      database_backup_retention_max_storage_s3: 1.5,
      timeout: 60,
    });
    const deleted = await api.ask("DELETE", `${path}/${made.json.uuid}?delete_s3=true`);
    expect([deleted.status, deleted.json]).toEqual([
      200,
      { message: "Backup configuration and all executions deleted." },
    ]);
    expect((await api.ask("GET", path)).json).toEqual([]);
  });

  test.each([
    [{}, "frequency"],
    [{ frequency: "now and then" }, "frequency"],
    [{ frequency: "daily", save_s3: true }, "s3_storage_uuid"],
    [{ frequency: "daily", s3_storage_uuid: "nobody's" }, "s3_storage_uuid"],
    [{ frequency: "daily", databases_to_backup: "shop; rm" }, "databases_to_backup"],
    [{ frequency: "daily", timeout: 59 }, "timeout"],
    [{ frequency: "daily", timeout: 36_001 }, "timeout"],
    [{ frequency: "daily", database_backup_retention_days_s3: -1 }, "database_backup_retention_days_s3"],
    [{ frequency: "daily", nope: 1 }, "nope"],
    [{ frequency: "daily", backup_now: true }, "server_uuid"],
  ])("are refused with %j", async (body, field) => {
    const path = `/databases/${await createdDatabase(api)}/backups`;
    const { status, json } = await api.ask("POST", path, { body: { x: undefined, ...body } });
    // An empty object is a malformed request.
    if (Object.keys(body).length === 0) expect(status).toBe(400);
    else expect([status, Object.keys(json.errors)]).toEqual([422, [field]]);
    expect((await api.ask("GET", path)).json).toEqual([]);
  });

  test("are not changed by a request for a backup that no engine can make", async () => {
    const path = `/databases/${await createdDatabase(api)}/backups`;
    const { json } = await api.ask("POST", path, { body: { frequency: "daily" } });
    const asked = await api.ask("PATCH", `${path}/${json.uuid}`, { body: { enabled: false, backup_now: true } });
    expect([asked.status, asked.json.code]).toEqual([422, "engine.unsupported"]);
    expect((await api.ask("GET", path)).json[0].enabled).toBe(true);
  });

  test.each(["redis", "keydb", "dragonfly", "clickhouse"])("are not there for %s", async (engine) => {
    const { json: database } = await api.ask("POST", `/databases/${engine}`, { body: api.where });
    const path = `/databases/${database.uuid}/backups`;
    const { status, json } = await api.ask("POST", path, { body: { frequency: "daily" } });
    expect([status, json.errors]).toEqual([
      422,
      { _: ["Scheduled backups are not supported for this database type."] },
    ]);
    expect((await api.ask("GET", path)).json).toEqual([]);
  });

  test("say of what is missing what it is", async () => {
    const path = `/databases/${await createdDatabase(api)}/backups`;
    const missing = [
      await api.ask("PATCH", `${path}/x`, { body: { enabled: false } }),
      await api.ask("DELETE", `${path}/x`),
      await api.ask("GET", `${path}/x/executions`),
      await api.ask("DELETE", `${path}/x/executions/y`),
      await api.ask("GET", "/databases/x/backups"),
    ];
    expect(missing.map(({ status, json }) => [status, json.message])).toEqual([
      [404, "Backup config not found."],
      [404, "Backup configuration not found."],
      [404, "Backup configuration not found."],
      [404, "Backup configuration not found."],
      [404, "Database not found."],
    ]);
  });
});

describe("backups that were made", () => {
  test("are listed newest first and page by page, and deleted one by one", async () => {
    const { database, schedule, execution } = await testBackup(api.db, api.stores, api.place);
    await endTestBackup(api.db.system, api.place.server.id, execution.uuid, {
      ...{ size_bytes: 5_000_000_000, filename: "/b/1.dmp" },
    });
    await api.db.system.backups.begin(schedule.id, new Date());
    const [second] = (await api.stores.backups.executions(schedule.id)).items;
    const path = `/databases/${database.uuid}/backups/${schedule.uuid}/executions`;
    const { json, headers } = await api.ask("GET", `${path}?take=1&skip=1`);
    expect(json).toEqual({
      executions: [
        {
          uuid: execution.uuid,
          filename: "/b/1.dmp",
          database_name: "postgres",
          size: "5000000000",
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/),
          message: null,
          status: "success",
          duration: expect.any(Number),
        },
      ],
    });
    expect(headers["x-total-count"]).toBe("2");
    const [shown] = (await api.ask("GET", `/databases/${database.uuid}/backups`)).json;
    expect(shown.executions.map(({ uuid, status }: { uuid: string; status: string }) => [uuid, status])).toEqual([
      [second?.uuid, "running"],
      [execution.uuid, "success"],
    ]);
    const deleted = await api.ask("DELETE", `${path}/${second?.uuid}`);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Backup execution deleted." }]);
    const again = await api.ask("DELETE", `${path}/${second?.uuid}`);
    expect([again.status, again.json.message]).toEqual([404, "Backup execution not found."]);
    expect((await api.ask("GET", path)).json.executions).toHaveLength(1);
  });

  test("stand with their schedule beside the database they are of, in the list of databases", async () => {
    const first = await testBackup(api.db, api.stores, api.place);
    const second = await testBackup(api.db, api.stores, api.place);
    const without = await createdDatabase(api);
    const { json } = await api.ask("GET", "/databases");
    const shown = (uuid: string) =>
      json
        .find((database: { uuid: string }) => database.uuid === uuid)
        .backup_configs.map(({ uuid: schedule, latest_log }: { uuid: string; latest_log: { uuid: string } | null }) => [
          schedule,
          latest_log?.uuid,
        ]);
    expect(shown(first.database.uuid)).toEqual([[first.schedule.uuid, first.execution.uuid]]);
    expect(shown(second.database.uuid)).toEqual([[second.schedule.uuid, second.execution.uuid]]);
    expect(shown(without)).toEqual([]);
  });
});

describe("restores", () => {
  const made = async () => {
    const backup = await testBackup(api.db, api.stores, api.place);
    const path = `/databases/${backup.database.uuid}`;
    const execution = `${path}/backups/${backup.schedule.uuid}/executions/${backup.execution.uuid}`;
    const end = (end = {}) => endTestBackup(api.db.system, api.place.server.id, backup.execution.uuid, end);
    return { ...backup, backupId: backup.execution.id, executionUuid: backup.execution.uuid, path, execution, end };
  };
  const answerOf = async (path: string, body?: object) => {
    const { status, json } = await api.ask("POST", path, body === undefined ? {} : { body });
    return [status, json.message, ...(json.errors ? [Object.keys(json.errors)] : [])];
  };

  test("are refused where nothing can be restored, with the reason", async () => {
    const running = await made();
    expect(await answerOf(`${running.execution}/drill`)).toEqual([400, "The backup has not ended yet."]);
    const failed = await made();
    await failed.end({ status: "failed", sha256: null, keepsFile: false });
    expect(await answerOf(`${failed.execution}/drill`)).toEqual([400, "The backup failed: nothing of it was kept."]);
    const gone = await made();
    await gone.end();
    await api.db.system.backups.giveUp([gone.executionUuid], "local");
    expect(await answerOf(`${gone.execution}/restore`, {})).toEqual([400, "No copy of the backup is left."]);
    for (const missing of [
      `${gone.path}/backups/x/executions/y`,
      `${gone.path}/backups/${gone.schedule.uuid}/executions/y`,
    ]) {
      expect((await answerOf(`${missing}/drill`))[0]).toBe(404);
    }
  });

  test("go into a database of the team and of the same engine only, by a name that is one", async () => {
    const { execution, end } = await made();
    await end();
    const { json: mysql } = await api.ask("POST", "/databases/mysql", { body: api.where });
    const refused = [
      { target_database_uuid: "nobody's" },
      { target_database_uuid: mysql.uuid },
      { database_name: "--option" },
      { nope: 1 },
    ];
    for (const body of refused) {
      const [status, , fields] = await answerOf(`${execution}/restore`, body);
      expect([status, fields]).toEqual([422, [Object.keys(body)[0]]]);
    }
  });

  test("say that the server runs no databases, as a backup at once does", async () => {
    const { execution, end } = await made();
    await end();
    expect((await answerOf(`${execution}/drill`))[0]).toBe(422);
  });

  test("are listed newest first and page by page, with what was counted", async () => {
    const { database, backupId, path, schedule, executionUuid } = await made();
    const insert = async (kind: "drill" | "restore") => {
      const restore = await api.stores.restores.insert({
        ...{ uuid: testUuid(), kind, database_name: "postgres", backup_execution_id: backupId },
        ...{ resource_id: database.id, target_resource_id: database.id },
      });
      return restore?.uuid;
    };
    const [drill, restore] = [await insert("drill"), await insert("restore")];
    // Only one of its kind may run at a time.
    expect(await insert("drill")).toBeUndefined();
    const claim = () =>
      api.db.system.restores.claim([api.place.server.id], { owner: "worker", leaseSeconds: 60, at: new Date() });
    let claimed = await claim();
    while (claimed !== undefined && claimed.uuid !== drill) claimed = await claim();
    const tables = [{ name: "public.orders", rows: 3, expected_rows: null }];
    const end = { status: "success", message: null, tables, finished_at: new Date() } as const;
    expect(await api.db.system.restores.finish({ uuid: drill ?? "", owner: "worker" }, end)).toBe(true);
    expect(await api.db.system.restores.finish({ uuid: drill ?? "", owner: "worker" }, end)).toBe(false);
    const listed = await api.ask("GET", `${path}/restores`);
    expect(listed.json.map(({ uuid }: { uuid: string }) => uuid)).toEqual([restore, drill]);
    expect(listed.headers["x-total-count"]).toBe("2");
    expect((await api.ask("GET", `${path}/restores/${drill}`)).json).toMatchObject({
      ...{
        kind: "drill",
        status: "success",
        target_database_uuid: null,
        database_name: "postgres",
        step: null,
        tables,
      },
    });
    const used = `${path}/backups/${schedule.uuid}`;
    for (const it of [used, `${used}/executions/${executionUuid}`]) {
      const refused = await api.ask("DELETE", it);
      expect([refused.status, refused.json.code]).toEqual([400, "resource.in_use"]);
    }
    const missing = await api.ask("GET", `${path}/restores/x`);
    expect([missing.status, missing.json.message]).toEqual([404, "Restore not found."]);
    const types = (await api.stores.events.list({})).map(({ type }) => type);
    expect(types).toContain("drill.finished");
  });
});

describe("cancelling", () => {
  test("a backup and a restore that wait ends them at once, says what is left, and is refused afterwards", async () => {
    const { database, schedule, execution } = await testBackup(api.db, api.stores, api.place);
    const path = `/databases/${database.uuid}`;
    const uuid = testUuid();
    await api.stores.restores.insert({
      ...{ uuid, kind: "restore", database_name: "postgres", backup_execution_id: execution.id },
      ...{ resource_id: database.id, target_resource_id: database.id },
    });
    const backup = `${path}/backups/${schedule.uuid}/executions/${execution.uuid}`;
    for (const [at, title, detail] of [
      [backup, "Backup execution", "Nothing of it was kept."],
      [`${path}/restores/${uuid}`, "Restore", "Nothing had been restored yet, so the database is unchanged."],
    ] as const) {
      const answer = await api.ask("POST", `${at}/cancel`);
      expect([answer.status, answer.json]).toEqual([
        200,
        {
          ...{ message: `${title} cancelled successfully.`, uuid: at.split("/").at(-1), status: "cancelled-by-user" },
          detail: `Cancelled by a user. ${detail}`,
        },
      ]);
      const refused = await api.ask("POST", `${at}/cancel`);
      expect([refused.status, refused.json]).toMatchObject([
        400,
        {
          code: "backup.not_cancellable",
          message: `${title} cannot be cancelled. Current status: cancelled-by-user`,
        },
      ]);
    }
    const [shown] = (await api.ask("GET", `${path}/backups`)).json;
    expect(shown.executions).toMatchObject([
      { status: "cancelled-by-user", cancel_requested_at: expect.any(String), finished_at: expect.any(String) },
    ]);
    const refused = await api.ask("POST", `${backup}/restore`, { body: {} });
    expect([refused.status, refused.json.message]).toEqual([400, "The backup was cancelled: nothing of it was kept."]);
  });
});

describe("S3 storages", () => {
  test("are tried when asked, and are usable when that went well", async () => {
    const uuid = await createdBucket();
    const path = `/s3-storages/${uuid}`;
    expect((await api.ask("GET", path)).json.is_usable).toBe(false);
    const answer = await api.ask("POST", `${path}/validate`);
    expect([answer.status, answer.json]).toEqual([
      200,
      { valid: true, message: "An object was written, read back and deleted." },
    ]);
    expect((await api.ask("GET", path)).json.is_usable).toBe(true);
    expect((await api.ask("POST", "/s3-storages/nope/validate")).json.message).toBe("S3 storage not found.");
  });

  test("are created, answered, changed and deleted", async () => {
    const uuid = await createdBucket();
    const path = `/s3-storages/${uuid}`;
    const { json } = await api.ask("GET", path);
    expect(json).toMatchObject({ ...bucket, uuid, description: null, is_usable: false });
    const changed = await api.ask("PATCH", path, { body: { secret: "new", is_usable: true } });
    expect([changed.status, changed.json]).toEqual([200, { uuid }]);
    expect((await api.ask("GET", path)).json).toEqual({
      ...json,
      secret: "new",
      is_usable: true,
      updated_at: expect.any(String),
    });
    expect((await api.ask("GET", "/s3-storages")).json.map((storage: { uuid: string }) => storage.uuid)).toContain(
      uuid,
    );
    const deleted = await api.ask("DELETE", path);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "S3 storage deleted." }]);
    const gone = await api.ask("GET", path);
    expect([gone.status, gone.json.message]).toEqual([404, "S3 storage not found."]);
  });

  test("hide their keys without read:sensitive, and in events", async () => {
    const uuid = await createdBucket();
    const token = await api.tokenWith("read", "write");
    for (const path of [`/s3-storages/${uuid}`, "/s3-storages"]) {
      const { status, text } = await api.ask("GET", path, { token });
      expect([status, /hush-hush|AKEY/.test(text)]).toEqual([200, false]);
    }
    await api.ask("PATCH", `/s3-storages/${uuid}`, { body: { key: "AKEY2", secret: "hush-hush-2" } });
    expect(JSON.stringify(await api.stores.events.list({}))).not.toMatch(/hush-hush|AKEY/);
  });

  test("are kept while backups use them", async () => {
    const { storage, schedule, database } = await testBackup(api.db, api.stores, api.place);
    const path = `/s3-storages/${storage.uuid}`;
    const refused = await api.ask("DELETE", path);
    expect([refused.status, refused.json.code, refused.json.message]).toEqual([
      400,
      "resource.in_use",
      expect.stringContaining("in use"),
    ]);
    await api.ask("DELETE", `/databases/${database.uuid}/backups/${schedule.uuid}`);
    expect((await api.ask("DELETE", path)).status).toBe(200);
  });

  test.each([
    ["ftp://s3.example", 422],
    ["https://user:pass@s3.example", 422],
    ["https://s3.example/?x=1", 422],
    ["s3.example", 422],
    ["http://s3.example:9000/minio", 422],
    ["https://s3.example:9000/minio", 201],
    ["http://127.0.0.1:9000/minio", 201],
  ])("at %s answer %i", async (endpoint, status) => {
    const answer = await api.ask("POST", "/s3-storages", { body: { ...bucket, endpoint } });
    expect(answer.status).toBe(status);
    if (status === 422) expect(Object.keys(answer.json.errors)).toEqual(["endpoint"]);
  });
});
