import { describe, expect, test } from "vitest";
import type { EnvRecord } from "../ports/records.ts";
import { EnvBulk, EnvCreate, envChange, envView, mirrorsPreview, newEnv, previewTwin } from "./env.ts";

const record = (sent: EnvCreate): EnvRecord => ({
  ...newEnv(sent),
  id: 1,
  uuid: "u",
  created_at: new Date(0),
  updated_at: new Date(0),
});
const open = { maySeeSecrets: true, shared: {}, referenceProblem: null, version: "v" };

describe("an environment variable", () => {
  test("has the defaults of the API family", () => {
    expect(newEnv({ key: "A" })).toEqual({
      key: "A",
      value: null,
      is_preview: false,
      is_literal: false,
      is_multiline: false,
      is_shown_once: false,
      is_runtime: true,
      is_buildtime: true,
      is_required: false,
      comment: null,
      order: null,
    });
  });

  test.each([["A"], ["_a.B9"], ["a".repeat(255)]])("may be called %s", (key) => {
    expect(EnvCreate.safeParse({ key }).success).toBe(true);
  });

  test.each([[""], ["9A"], ["A-B"], ["A B"], [" A"], ["Ä"], [".a"], ["A=B"], ["a".repeat(256)]])(
    "may not be called %j",
    (key) => {
      expect(EnvCreate.safeParse({ key }).success).toBe(false);
    },
  );

  test.each([["  spaces  "], [""], ["a\nb"], ["\ttab"]])("keeps the value %j byte for byte", (value) => {
    expect(EnvCreate.parse({ key: "A", value }).value).toBe(value);
  });

  test("[S12] knows no is_build_time, neither as input nor in answers", () => {
    expect(EnvCreate.safeParse({ key: "A", is_build_time: true }).success).toBe(false);
    expect(envView(record({ key: "A" }), open)).not.toHaveProperty("is_build_time");
  });

  test("[S10] keeps a comment of up to 256 characters", () => {
    expect(envView(record({ key: "A", comment: "why" }), open).comment).toBe("why");
    expect(EnvCreate.safeParse({ key: "A", comment: "x".repeat(257) }).success).toBe(false);
  });

  test("names the item of a bulk request that is wrong", () => {
    const { error } = EnvBulk.safeParse({ data: [{ key: "A" }, { key: "B C" }] });
    expect(error?.issues.map(({ path }) => path.join("."))).toEqual(["data.1.key"]);
  });

  test("hides its value without read:sensitive, and for ever when it is shown once", () => {
    const hidden = envView(record({ key: "A", value: "x" }), { ...open, maySeeSecrets: false });
    expect(hidden).not.toHaveProperty("value");
    expect(hidden).not.toHaveProperty("real_value");
    expect(envView(record({ key: "A", value: "x", is_shown_once: true }), open)).not.toHaveProperty("value");
    expect(envView(record({ key: "A", value: "x" }), open)).toMatchObject({ value: "x", real_value: "x" });
  });

  test("says what kind of variable it is", () => {
    expect(envView(record({ key: "NIXPACKS_X", value: "{{ team.A }}" }), open)).toMatchObject({
      is_nixpacks: true,
      is_coolify: false,
      is_shared: true,
      is_really_required: false,
    });
    const required = { ...record({ key: "SERVICE_X", value: "" }), is_required: true };
    expect(envView(required, open)).toMatchObject({ is_coolify: true, is_really_required: true });
  });

  test("changes only what was sent", () => {
    expect(envChange({ key: "A", is_preview: true, value: "", comment: null })).toEqual({ value: "", comment: null });
  });

  test("is followed by its preview twin until that is changed by itself", () => {
    const normal = newEnv({ key: "A", value: "1" });
    const twin = previewTwin(normal);
    expect([twin.is_preview, mirrorsPreview(twin, normal)]).toEqual([true, true]);
    expect(mirrorsPreview({ ...twin, value: "2" }, normal)).toBe(false);
  });
});
