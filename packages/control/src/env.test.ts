import type { ResourceRef } from "@berth/core/resource";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { gitApplication, outcomes, type World, world } from "./world.fixture.ts";

let at: World;
let ref: ResourceRef;
beforeAll(async () => {
  at = await world();
});
beforeEach(async () => {
  const { uuid } = await at.own.applications.createPublic(gitApplication(at));
  ref = { kind: "application", uuid };
});
afterAll(() => at.db.close());

const shown = async () =>
  (await at.own.envs.list(ref, {})).items.map(({ key, value, is_preview }) => [key, value, is_preview]);

describe("environment variables", () => {
  test("are made with a twin for previews, which follows until it is edited itself", async () => {
    await at.own.envs.create(ref, { key: "A", value: "1", comment: "why" });
    await at.own.envs.update(ref, { key: "A", value: "2" });
    expect(await shown()).toEqual([
      ["A", "2", false],
      ["A", "2", true],
    ]);
    await at.own.envs.update(ref, { key: "A", is_preview: true, value: "preview" });
    await at.own.envs.update(ref, { key: "A", value: "3" });
    expect(await shown()).toEqual([
      ["A", "3", false],
      ["A", "preview", true],
    ]);
  });

  test("keep a preview variable that was there before, and delete exactly one", async () => {
    await at.own.envs.create(ref, { key: "A", value: "preview", is_preview: true });
    const { uuid } = await at.own.envs.create(ref, { key: "A", value: "normal" });
    await at.own.envs.delete(ref, uuid);
    expect(await shown()).toEqual([["A", "preview", true]]);
  });

  test("keep what a change does not name", async () => {
    await at.own.envs.create(ref, { key: "A", value: "1", is_literal: true, is_multiline: true, comment: "why" });
    expect(await at.own.envs.update(ref, { key: "A", comment: null })).toMatchObject({
      value: "1",
      is_literal: true,
      is_multiline: true,
      comment: null,
    });
  });

  test("are refused where they are set when no program could be started with them", async () => {
    const value = "x".repeat(131_070);
    await at.own.envs.create(ref, { key: "A", value: value.slice(1) });
    const refused = { code: "request.invalid", fields: { value: [expect.stringContaining("131071 bytes")] } };
    await expect(at.own.envs.create(ref, { key: "B", value })).rejects.toMatchObject(refused);
    await expect(at.own.envs.update(ref, { key: "A", value })).rejects.toMatchObject(refused);
    const data = [
      { key: "C", value: "1" },
      { key: "LONG_NAME", value: value.slice(1) },
    ];
    const bulk = { code: "request.invalid", fields: { "data.1.value": [expect.any(String)] } };
    await expect(at.own.envs.updateBulk(ref, { data })).rejects.toMatchObject(bulk);
    expect((await shown()).map(([key]) => key)).not.toContain("C");
  });

  test("are refused twice with one key, also at once", async () => {
    const asked = Array.from({ length: 5 }, () => at.own.envs.create(ref, { key: "A", value: "1" }));
    const results = await Promise.allSettled(asked);
    const lost = results.filter((result) => result.status === "rejected");
    expect(lost).toHaveLength(4);
    for (const { reason } of lost) {
      expect(reason).toMatchObject({
        code: "resource.already_exists",
        message: "Environment variable already exists. Use PATCH request to update it.",
      });
    }
  });

  test("in bulk are created and changed by key", async () => {
    await at.own.envs.create(ref, { key: "A", value: "1" });
    const saved = await at.own.envs.updateBulk(ref, {
      data: [
        { key: "A", value: "2" },
        { key: "B", value: "3" },
        { key: "A", value: "4" },
      ],
    });
    expect(saved.map(({ key, value }) => [key, value])).toEqual([
      ["A", "2"],
      ["B", "3"],
      ["A", "4"],
    ]);
    expect((await shown()).filter(([, , isPreview]) => !isPreview)).toEqual([
      ["A", "4", false],
      ["B", "3", false],
    ]);
  });

  test("changes in bulk as one by one: a preview variable follows until it is changed itself", async () => {
    await at.own.envs.create(ref, { key: "A", value: "0", comment: "why" });
    const saved = await at.own.envs.updateBulk(ref, {
      data: [
        { key: "A", value: "1" },
        { key: "P", value: "2", is_preview: true },
        { key: "P", value: "3" },
        { key: "A", value: "4", is_preview: true },
        { key: "A", value: "5" },
        { key: "B", value: "6" },
      ],
    });
    expect(saved.map(({ key, value, comment }) => [key, value, comment])).toEqual([
      ["A", "1", "why"],
      ["P", "2", null],
      ["P", "3", null],
      ["A", "4", "why"],
      ["A", "5", "why"],
      ["B", "6", null],
    ]);
    const { items } = await at.own.envs.list(ref, {});
    expect(items.map(({ key, value, is_preview }) => [key, value, is_preview])).toEqual([
      ["A", "5", false],
      ["P", "3", false],
      ["B", "6", false],
      ["A", "4", true],
      ["P", "2", true],
      ["B", "6", true],
    ]);
    const dates = new Map(items.map(({ uuid, created_at, updated_at }) => [uuid, [created_at, updated_at]]));
    expect(saved.map(({ uuid, created_at, updated_at }) => [uuid, [created_at, updated_at]])).toEqual(
      saved.map(({ uuid }) => [uuid, dates.get(uuid)]),
    );
  });

  test("in bulk are all saved or none", async () => {
    // The schema accepts this comment but the database cannot store it, so the request fails in its middle.
    const bulk = {
      data: [
        { key: "A", value: "1" },
        { key: "B", comment: "a\0b" },
      ],
    };
    await expect(at.own.envs.updateBulk(ref, bulk)).rejects.toThrow();
    expect(await shown()).toEqual([]);
    await expect(at.own.envs.updateBulk(ref, { data: [] })).rejects.toThrow("Bulk data is required.");
  });

  test.each(["", " spaced ", "line\nline", "tab\t'\"\\$x", "🚢"])("keep the value %j byte for byte", async (value) => {
    await at.own.envs.create(ref, { key: "A", value });
    expect((await at.own.envs.list(ref, {})).items[0]?.value).toBe(value);
  });

  test("hide values from those who may not read secrets, in events too", async () => {
    await at.own.envs.create(ref, { key: "A", value: "very-secret" });
    const reader = at.as(at.place.server.team_id, "read", "write");
    expect(JSON.stringify(await reader.envs.list(ref, {}))).not.toContain("very-secret");
    expect(JSON.stringify(await reader.envs.update(ref, { key: "A", value: "new-secret" }))).not.toContain(
      "new-secret",
    );
    expect(JSON.stringify(await at.stores.events.list({}))).not.toMatch(/very-secret|new-secret/);
  });

  test("[S67] of another team's application are not found", async () => {
    const made = await at.own.envs.create(ref, { key: "A", value: "1" });
    const { envs } = at.otherTeam.control;
    const asked = [
      envs.list(ref, {}),
      envs.create(ref, { key: "B" }),
      envs.update(ref, { key: "A" }),
      envs.updateBulk(ref, { data: [{ key: "A" }] }),
      envs.delete(ref, made.uuid),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Application not found."));
    expect(await shown()).toHaveLength(2);
  });
});
