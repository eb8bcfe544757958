import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, createdDatabase, createdService, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

describe("GET /resources", () => {
  test("[S03] lists resources of every kind as their own operations answer them, with what they are", async () => {
    const made = [
      ["/applications", await createdApplication(api), "application"],
      ["/databases", await createdDatabase(api), "standalone-postgresql"],
      ["/services", await createdService(api), "service"],
      ["/applications", await createdApplication(api), "application"],
    ] as const;
    const { json, headers } = await api.ask("GET", "/resources");
    expect(json.map(({ uuid, type }: { uuid: string; type: string }) => [uuid, type])).toEqual(
      made.map(([, uuid, type]) => [uuid, type]),
    );
    expect(headers["x-total-count"]).toBe("4");
    for (const [index, [path, uuid]] of made.entries()) {
      const { settings: _, ...own } = (await api.ask("GET", `${path}/${uuid}`)).json;
      expect(json[index]).toMatchObject(own);
      expect(json[index].id).toEqual(expect.any(Number));
    }
    const page = await api.ask("GET", "/resources?skip=1&take=2");
    expect(page.json).toEqual(json.slice(1, 3));
  });

  test("hides the secrets of all kinds", async () => {
    const token = await api.tokenWith("read");
    const { status, text } = await api.ask("GET", "/resources", { token });
    expect([status, /postgres_password|_db_url|docker_compose_raw/.test(text)]).toEqual([200, false]);
  });
});

describe("GET /resources/summaries", () => {
  test("shows status, URLs, last deployment and problems of each resource, without its settings", async () => {
    const application = await createdApplication(api, {
      domains: "https://summary.example.com,https://two.example.com",
    });
    const database = await createdDatabase(api);
    const { deployments } = (await api.ask("POST", "/deploy", { body: { uuid: application } })).json;
    const { json, headers } = await api.ask("GET", "/resources/summaries");
    const all = (await api.ask("GET", "/resources")).json;
    expect(json.map(({ uuid }: { uuid: string }) => uuid)).toEqual(all.map(({ uuid }: { uuid: string }) => uuid));
    expect(headers["x-total-count"]).toBe(String(all.length));
    const of = (uuid: string) => json.find((one: { uuid: string }) => one.uuid === uuid);
    const [whole] = all.filter((one: { uuid: string }) => one.uuid === application);
    expect(of(application)).toMatchObject({
      type: "application",
      status: whole.status,
      environment_uuid: whole.environment_uuid,
      project_uuid: whole.project_uuid,
      urls: whole.urls,
      last_deployment: { deployment_uuid: deployments[0].deployment_uuid, status: "queued" },
      failed_backups: [],
    });
    expect(whole.urls).toHaveLength(2);
    expect(of(database)).toMatchObject({ type: "standalone-postgresql", urls: [], last_deployment: null });
    const page = await api.ask("GET", "/resources/summaries?skip=1&take=2");
    expect(page.json).toEqual(json.slice(1, 3));
  });

  test("shows each recorded change of a resource in the next answer", async () => {
    const { kysely } = api.db.database;
    const uuid = await createdApplication(api, { domains: "https://changes.example.com" });
    const shown = async () => {
      const { json } = await api.ask("GET", "/resources/summaries");
      return json.find((one: { uuid: string }) => one.uuid === uuid);
    };
    const { deployments } = (await api.ask("POST", "/deploy", { body: { uuid } })).json;
    const before = await shown();
    const whole = (await api.ask("GET", `/deployments/${deployments[0].deployment_uuid}`)).json;
    expect(Object.keys(before.last_deployment)).toHaveLength(10);
    expect(whole).toMatchObject(before.last_deployment);

    const setResource = (values: object) =>
      kysely.updateTable("resource").set(values).where("uuid", "=", uuid).execute();
    const setDeployment = (values: object) =>
      kysely.updateTable("deployment").set(values).where("uuid", "=", deployments[0].deployment_uuid).execute();
    const at = new Date("2026-01-02T03:04:05.678Z");
    const text = "2026-01-02T03:04:05.678000Z";
    const changes: readonly (readonly [() => Promise<unknown>, object])[] = [
      [() => setResource({ name: "renamed" }), { name: "renamed" }],
      [() => setResource({ status: "running:healthy" }), { status: "running:healthy" }],
      [() => setResource({ updated_at: at }), { updated_at: text }],
      [() => setDeployment({ status: "failed" }), { last_deployment: { status: "failed" } }],
      [() => setDeployment({ error: "The build failed." }), { last_deployment: { error: "The build failed." } }],
      [() => setDeployment({ commit: "abc" }), { last_deployment: { commit: "abc" } }],
      [() => setDeployment({ commit_message: "Fix" }), { last_deployment: { commit_message: "Fix" } }],
      [() => setDeployment({ is_webhook: true }), { last_deployment: { is_webhook: true } }],
      [() => setDeployment({ started_at: at }), { last_deployment: { started_at: text } }],
      [() => setDeployment({ finished_at: at }), { last_deployment: { finished_at: text } }],
    ];
    for (const [change, expected] of changes) {
      expect(await shown()).not.toMatchObject(expected);
      await change();
      expect(await shown()).toMatchObject(expected);
    }
  });

  test("says why the newest run of a backup schedule failed", async () => {
    const { kysely } = api.db.database;
    const uuid = await createdDatabase(api);
    const { uuid: schedule } = (
      await api.ask("POST", `/databases/${uuid}/backups`, { body: { frequency: "0 0 * * *" } })
    ).json;
    const { id } = await kysely
      .selectFrom("scheduled_backup")
      .select("id")
      .where("uuid", "=", schedule)
      .executeTakeFirstOrThrow();
    const run = { scheduled_backup_id: id, finished_at: new Date() };
    await kysely
      .insertInto("backup_execution")
      .values([
        { ...run, uuid: `${uuid}a`, status: "success" },
        { ...run, uuid: `${uuid}b`, status: "failed", message: "The disk is full." },
      ])
      .execute();
    const { json } = await api.ask("GET", "/resources/summaries");
    const found = json.find((one: { uuid: string }) => one.uuid === uuid);
    expect(found).toMatchObject({ failed_backups: ["The disk is full."], last_drill: null });
  });

  test("says how the newest drill that was not cancelled ended", async () => {
    const { kysely } = api.db.database;
    const uuid = await createdDatabase(api);
    await api.ask("POST", `/databases/${uuid}/backups`, { body: { frequency: "0 0 * * *" } });
    const schedule = await kysely
      .selectFrom("scheduled_backup")
      .innerJoin("resource", "resource.id", "scheduled_backup.resource_id")
      .select(["scheduled_backup.id", "scheduled_backup.resource_id"])
      .where("resource.uuid", "=", uuid)
      .executeTakeFirstOrThrow();
    const execution = await kysely
      .insertInto("backup_execution")
      .values({
        scheduled_backup_id: schedule.id,
        uuid: `${uuid}d`,
        status: "success",
        created_at: new Date("2026-01-01Z"),
      })
      .returning("id")
      .executeTakeFirstOrThrow();
    const shown = async () =>
      (await api.ask("GET", "/resources/summaries")).json.find((one: { uuid: string }) => one.uuid === uuid);
    expect(await shown()).toMatchObject({ last_drill: null, undrilled_since: "2026-01-01T00:00:00.000000Z" });
    const drill = {
      ...{ backup_execution_id: execution.id, kind: "drill" as const },
      ...{ resource_id: schedule.resource_id, target_resource_id: schedule.resource_id },
      finished_at: new Date("2026-01-02T03:04:05Z"),
    };
    await kysely
      .insertInto("backup_restore")
      .values([
        { ...drill, uuid: `${uuid}1`, status: "success" },
        { ...drill, uuid: `${uuid}2`, status: "failed", message: "Row counts differ from the backup." },
        { ...drill, uuid: `${uuid}3`, status: "cancelled-by-user" },
        { ...drill, uuid: `${uuid}4`, status: "success", kind: "restore" },
      ])
      .execute();
    const found = await shown();
    expect(found.last_drill).toEqual({
      status: "failed",
      message: "Row counts differ from the backup.",
      finished_at: "2026-01-02T03:04:05.000000Z",
    });
    expect(found).not.toHaveProperty("undrilled_since");
  });
});
