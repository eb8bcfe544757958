import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

const OPERATION = {
  type: "image",
  id: "sha256:1",
  name: "berth/a:b",
  resource_uuid: "a",
  size_bytes: 1,
  reason: "No deployment uses it.",
} as const;

let api: Served;
let hasImages = true;
beforeAll(async () => {
  api = await served({ planCleanup: async () => (hasImages ? [OPERATION] : undefined) });
});
afterAll(() => api.close());

describe("a cleanup that is asked for", () => {
  const server = async () => (await api.ask("GET", "/servers")).json[0].uuid;

  test("only says what would go with dry_run, and is a job without", async () => {
    const path = `/servers/${await server()}/cleanup`;
    const planned = await api.ask("POST", path, { body: { dry_run: true } });
    expect(planned.json).toEqual({ message: "1 objects would be removed.", operations: [OPERATION] });
    expect((await api.ask("GET", "/jobs?type=server.cleanup")).json).toHaveLength(0);
    const started = await api.ask("POST", path, { body: {} });
    expect(started.json.message).toBe("Cleanup started.");
    const job = await api.ask("GET", `/jobs/${started.json.job_uuid}`);
    expect(job.json).toMatchObject({ type: "server.cleanup", status: "queued" });
    // While a job is waiting it is returned, and no other is queued.
    expect((await api.ask("POST", path, { body: {} })).json.job_uuid).toBe(started.json.job_uuid);
  });

  test("is refused where there is nothing to clean up", async () => {
    hasImages = false;
    const { status, json } = await api.ask("POST", `/servers/${await server()}/cleanup`, { body: {} });
    expect([status, json.code]).toEqual([422, "engine.unsupported"]);
  });
});
