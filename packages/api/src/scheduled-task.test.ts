import { RESOURCE_KINDS } from "@berth/core/resource";
import { KINDS_WITH_TASKS } from "@berth/core/schedule";
import { testExecutions, testResource } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

const task = { name: "Clean up", command: "rm -rf cache", frequency: "daily" };

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const FACT = { application: "S57", service: "S58" } as const;

describe.each(KINDS_WITH_TASKS)("scheduled tasks of an owner of the kind %s", (kind) => {
  let path: string;
  let ownerId: number;
  beforeEach(async () => {
    const owner = await testResource(api.stores, kind, api.place);
    ownerId = owner.id;
    path = `/${RESOURCE_KINDS[kind].plural}/${owner.uuid}/scheduled-tasks`;
  });

  test(`[${FACT[kind]}] are created, listed, changed and deleted`, async () => {
    const created = await api.ask("POST", path, { body: { ...task, timeout: 60, container: "web", enabled: false } });
    const timestamps = { created_at: expect.stringMatching(/Z$/), updated_at: expect.stringMatching(/Z$/) };
    const fields = { ...task, timeout: 60, container: "web", enabled: false };
    expect([created.status, created.json]).toEqual([201, { uuid: expect.any(String), ...fields, ...timestamps }]);
    const one = `${path}/${created.json.uuid}`;
    const changed = await api.ask("PATCH", one, { body: { frequency: "*/5 * * * *", container: null, enabled: true } });
    expect([changed.status, changed.json]).toEqual([
      200,
      { ...created.json, frequency: "*/5 * * * *", container: null, enabled: true, updated_at: expect.any(String) },
    ]);
    const listed = await api.ask("GET", path);
    expect([listed.json, listed.headers["x-total-count"]]).toEqual([[changed.json], "1"]);
    const deleted = await api.ask("DELETE", one);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Scheduled task deleted." }]);
    for (const [method, body] of [["DELETE"], ["PATCH", { name: "x" }]] as const) {
      const again = await api.ask(method, one, { body });
      expect([again.status, again.json.message]).toEqual([404, "Scheduled task not found."]);
    }
  });

  test("[S59] list their executions, newest first and page by page", async () => {
    const { json } = await api.ask("POST", path, { body: task });
    const { id = 0 } = (await api.stores.scheduledTasks.find(ownerId, json.uuid)) ?? {};
    const ended = await testExecutions(api.db.system, { id, uuid: json.uuid }, api.place.server.id, 2);
    const run = await api.ask("POST", `${path}/${json.uuid}/run`);
    expect([run.status, run.json.message]).toEqual([200, "Scheduled task execution queued."]);
    const uuids = [...ended, run.json.execution_uuid];
    const { json: all } = await api.ask("GET", `${path}/${json.uuid}/executions`);
    expect(all.map(({ uuid }: { uuid: string }) => uuid)).toEqual([...uuids].reverse());
    expect(all[1]).toEqual({
      uuid: uuids[1],
      status: "success",
      message: "2 files",
      error_details: null,
      exit_code: 0,
      retry_count: 0,
      due_at: "2026-01-02T03:04:01.000000Z",
      duration: "1.50",
      started_at: "2026-01-02T03:04:01.000000Z",
      finished_at: "2026-01-02T03:04:02.500000Z",
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(all[0]).toMatchObject({ status: "running", duration: null, finished_at: null, due_at: null });
    const one = await api.ask("GET", `${path}/${json.uuid}/executions/${uuids[1]}`);
    expect([one.status, one.json]).toEqual([200, all[1]]);
    const again = await api.ask("POST", `${path}/${json.uuid}/run`);
    expect([again.status, again.json.message]).toEqual([
      400,
      "The scheduled task is running already. Wait until it has ended.",
    ]);
    const page = await api.ask("GET", `${path}/${json.uuid}/executions?skip=1&take=1`);
    expect(page.json.map(({ uuid }: { uuid: string }) => uuid)).toEqual([uuids[1]]);
    expect(page.headers["x-total-count"]).toBe("3");
    expect(page.headers.link).toContain('rel="next"');
    const missing = await api.ask("GET", `${path}/nothing/executions`);
    expect([missing.status, missing.json.message]).toEqual([404, "Scheduled task not found."]);
  });

  test("[S52] [S53] refuse fields outside of the accepted ones, and change nothing then", async () => {
    const created = await api.ask("POST", path, { body: task });
    for (const [method, at] of [
      ["POST", path],
      ["PATCH", `${path}/${created.json.uuid}`],
    ] as const) {
      const body = { ...task, name: "Changed", team_id: 0, status: "x" };
      const { status, json } = await api.ask(method, at, { body });
      expect([status, json.message, json.errors]).toEqual([
        422,
        "Validation failed.",
        { team_id: ["This field is not allowed."], status: ["This field is not allowed."] },
      ]);
    }
    expect((await api.ask("GET", path)).json).toEqual([created.json]);
  });

  test("say what is wrong with what is sent", async () => {
    const missing = await api.ask("POST", path, { body: { name: "Clean up" } });
    expect([missing.status, missing.json.errors]).toEqual([
      422,
      { command: ["This field is required."], frequency: ["This field is required."] },
    ]);
    const wrong = await api.ask("POST", path, { body: { ...task, frequency: "sometimes", timeout: 0 } });
    expect([wrong.status, wrong.json.errors]).toEqual([
      422,
      { frequency: ["Invalid cron expression or frequency format."], timeout: [expect.any(String)] },
    ]);
    const { json } = await api.ask("POST", path, { body: task });
    const nothing = await api.ask("PATCH", `${path}/${json.uuid}`, { body: {} });
    expect([nothing.status, nothing.json.error]).toEqual([400, "Empty JSON."]);
  });

  test("[S51] [S68] are closed to who has no token, and to tokens without the ability", async () => {
    const { json } = await api.ask("POST", path, { body: task });
    const [reader, writer] = [await api.tokenWith("read"), await api.tokenWith("write")];
    const one = `${path}/${json.uuid}`;
    for (const [method, at, wrong, body] of [
      ["GET", path, writer, undefined],
      ["GET", `${one}/executions`, writer, undefined],
      ["POST", path, reader, task],
      ["PATCH", one, reader, { name: "x" }],
      ["DELETE", one, reader, undefined],
    ] as const) {
      const options = body === undefined ? {} : { body };
      expect((await api.ask(method, at, { token: null, ...options })).status).toBe(401);
      expect((await api.ask(method, at, { token: wrong, ...options })).status).toBe(403);
      expect((await api.ask(method, at, { token: api.otherTeam.token, ...options })).status).toBe(404);
    }
    expect((await api.ask("GET", path)).json).toEqual([json]);
  });
});

test("[S17] belong to applications and services only", async () => {
  const { uuid } = await testResource(api.stores, "database", api.place);
  const { status, json } = await api.ask("GET", `/databases/${uuid}/scheduled-tasks`);
  expect([status, json.message]).toEqual([404, "Not found."]);
});
