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
