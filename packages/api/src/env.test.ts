import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
let path: string;
beforeAll(async () => {
  api = await served();
});
beforeEach(async () => {
  path = `/applications/${await createdApplication(api)}/envs`;
});
afterAll(() => api.close());

describe("environment variables of an application", () => {
  test("[S10] are created, listed, changed by key and deleted", async () => {
    const created = await api.ask("POST", path, { body: { key: "A", value: " 1 ", comment: "why" } });
    expect([created.status, created.json]).toEqual([201, { uuid: expect.any(String) }]);
    const changed = await api.ask("PATCH", path, { body: { key: "A", value: "" } });
    expect([changed.status, changed.json]).toEqual([
      201,
      expect.objectContaining({ uuid: created.json.uuid, key: "A", value: "", comment: "why", is_preview: false }),
    ]);
    const { json } = await api.ask("GET", path);
    expect(json.map(({ key, is_preview }: { key: string; is_preview: boolean }) => [key, is_preview])).toEqual([
      ["A", false],
      ["A", true],
    ]);
    const deleted = await api.ask("DELETE", `${path}/${created.json.uuid}`);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Environment variable deleted." }]);
    expect((await api.ask("DELETE", `${path}/${created.json.uuid}`)).json.message).toBe(
      "Environment variable not found.",
    );
  });

  test("answer 409 to a key that is there, and 404 to one that is not", async () => {
    await api.ask("POST", path, { body: { key: "A", value: "1" } });
    const again = await api.ask("POST", path, { body: { key: "A", value: "2" } });
    expect([again.status, again.json.message]).toEqual([
      409,
      "Environment variable already exists. Use PATCH request to update it.",
    ]);
    const missing = await api.ask("PATCH", path, { body: { key: "B", value: "2" } });
    expect([missing.status, missing.json.message]).toEqual([404, "Environment variable not found."]);
  });

  test("[S12] refuse is_build_time, and name the item of a bulk request that is wrong", async () => {
    const refused = await api.ask("POST", path, { body: { key: "A", is_build_time: true } });
    expect([refused.status, refused.json.errors]).toEqual([422, { is_build_time: ["This field is not allowed."] }]);
    const data = [{ key: "A", value: "1" }, { key: "B" }, { key: "C" }, { key: "not a key", is_build_time: false }];
    const bulk = await api.ask("PATCH", `${path}/bulk`, { body: { data } });
    expect(bulk.status).toBe(422);
    expect(Object.keys(bulk.json.errors).sort()).toEqual(["data.3.is_build_time", "data.3.key"]);
    expect((await api.ask("GET", path)).json).toEqual([]);
  });

  test("are saved in bulk as a whole", async () => {
    const data = [
      { key: "A", value: "1" },
      { key: "B", value: "2", is_literal: true },
    ];
    const { status, json } = await api.ask("PATCH", `${path}/bulk`, { body: { data } });
    expect([status, json.map(({ key, value }: { key: string; value: string }) => [key, value])]).toEqual([
      201,
      [
        ["A", "1"],
        ["B", "2"],
      ],
    ]);
    const empty = await api.ask("PATCH", `${path}/bulk`, { body: { data: [] } });
    expect([empty.status, empty.json.message]).toEqual([400, "Bulk data is required."]);
  });

  test("that are saved in bulk at the same time are all there in the end", async () => {
    const bulk = (prefix: string) => ({
      data: Array.from({ length: 20 }, (_, n) => ({ key: `${prefix}${n}`, value: prefix })),
    });
    const asked = ["A", "B", "C"].map((prefix) => api.ask("PATCH", `${path}/bulk`, { body: bulk(prefix) }));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await api.ask("GET", `${path}?take=1000`)).json).toHaveLength(120);
  });

  test("hide their values without read:sensitive", async () => {
    await api.ask("POST", path, { body: { key: "A", value: "hush-hush" } });
    const token = await api.tokenWith("read", "write");
    const listed = await api.ask("GET", path, { token });
    expect([listed.status, listed.text.includes("hush-hush")]).toEqual([200, false]);
    expect(listed.json[0]).not.toHaveProperty("value");
    expect((await api.ask("GET", path)).json[0]).toMatchObject({ value: "hush-hush", real_value: "hush-hush" });
  });
});
