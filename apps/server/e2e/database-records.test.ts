import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.fixture.ts";

let server: TestServer;
beforeAll(async () => {
  server = await testServer();
});
afterAll(() => server.dispose());

describe("databases on the machine that Berth runs on", () => {
  test("are kept, not started, and gone soon after they were deleted", async () => {
    const [project] = await server.client.projects.list.query({});
    const [local] = await server.client.servers.list.query({});
    const where = {
      project_uuid: project?.uuid ?? "",
      environment_name: "production",
      server_uuid: local?.uuid ?? "",
    };
    const made = await server.client.databases.create.postgresql.mutate({ ...where, postgres_db: "shop" });
    expect(made.internal_db_url).toMatch(/^postgres:\/\/postgres:[A-Za-z0-9]{64}@\w+:5432\/shop$/);
    await server.client.databases.backups.create.mutate({ uuid: made.uuid, frequency: "daily" });

    const started = await server.rest("POST", `/databases/${made.uuid}/start`);
    expect(started).toMatchObject({ status: 422, body: { code: "engine.unsupported" } });
    const instant = server.client.databases.create.redis.mutate({ ...where, instant_deploy: true });
    await expect(instant).rejects.toMatchObject({ data: { code: "UNPROCESSABLE_CONTENT" } });
    const listed = await server.client.databases.list.query({});
    expect(listed.map(({ uuid, backup_configs }) => [uuid, backup_configs?.length])).toEqual([[made.uuid, 1]]);

    await server.client.databases.delete.mutate({ uuid: made.uuid });
    const status = async () => (await server.rest("GET", `/databases/${made.uuid}`)).status;
    await expect.poll(status).toBe(404);
  });
});
