import { DATABASE_ENGINE_NAMES } from "@berth/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

describe("databases", () => {
  test.each(DATABASE_ENGINE_NAMES)("of %s are created, answered, changed and deleted", async (engine) => {
    const created = await api.ask("POST", `/databases/${engine}`, { body: api.where });
    expect([created.status, created.json]).toEqual([
      201,
      { uuid: expect.any(String), internal_db_url: expect.stringContaining(`@${created.json.uuid}:`) },
    ]);
    const path = `/databases/${created.json.uuid}`;
    const { json } = await api.ask("GET", path);
    expect(json).toMatchObject({
      database_type: `standalone-${engine}`,
      name: `${engine}-database-${created.json.uuid}`,
      internal_db_url: created.json.internal_db_url,
      external_db_url: null,
      status: "exited:unhealthy",
    });
    const changed = await api.ask("PATCH", path, { body: { description: "Orders", limits_memory: "512m" } });
    expect([changed.status, changed.json]).toEqual([200, { message: "Database updated." }]);
    expect((await api.ask("GET", path)).json).toEqual({
      ...json,
      description: "Orders",
      limits_memory: "512m",
      updated_at: expect.any(String),
    });
    const deleted = await api.ask("DELETE", path);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Database deletion request queued." }]);
    expect((await api.ask("GET", path)).json.status).toMatch(/^removing/);
  });
});
