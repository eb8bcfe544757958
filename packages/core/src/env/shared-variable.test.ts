import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { EnvRecord } from "../ports/records.ts";
import type { SeenVariable } from "../ports/shared-variable.ts";
import { newEnv } from "./env.ts";
import { isReferable, withDatabaseName } from "./env-value.ts";
import {
  envViews,
  newSharedVariable,
  requireReachable,
  resolveEnvs,
  SharedVariableCreate,
  sharedVariableChange,
  sharedVariableView,
} from "./shared-variable.ts";

const AT = new Date(0);
const env = (key: string, value: string | null): EnvRecord => ({
  ...newEnv({ key, value }),
  id: 1,
  uuid: key,
  created_at: AT,
  updated_at: AT,
});
const seen = (scope: SeenVariable["scope"], key: string, value: string | null): SeenVariable => ({
  scope,
  key,
  value,
  resource_id: 1,
  is_shown_once: false,
});

describe("variables that refer to shared ones", () => {
  const all = [
    seen("team", "HOST", "db.test"),
    seen("server", "HOST", "web-1"),
    seen("project", "NEST", "{{ team.HOST }}$x"),
    seen("environment", "EMPTY", null),
  ];

  test.each([
    ["{{ team.HOST }}", "db.test"],
    ["postgres://u@{{team.HOST}}/{{ server.HOST }}", "postgres://u@db.test/web-1"],
    ["{{ project.NEST }}", "{{ team.HOST }}$x"],
    ["<{{ environment.EMPTY }}>", "<>"],
    ["{{ team.NONE }}", "{{ team.NONE }}"],
    [null, null],
  ])("%j runs as %j", (value, expected) => {
    expect(resolveEnvs([env("A", value)], all).envs[0]?.value).toBe(expected);
  });

  test("leave the others byte for byte, whatever is shared", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (value, shared) => {
        fc.pre(!value.includes("{{"));
        const { envs, unknown } = resolveEnvs([env("A", value)], [seen("team", "HOST", shared)]);
        expect([envs[0]?.value, unknown]).toEqual([value, []]);
      }),
    );
  });

  test("carry any shared value byte for byte, also one that looks like a reference or a pattern", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("$&", "$1", "{{ team.A }}")), (value) => {
        const { envs, shared } = resolveEnvs([env("A", "<{{ team.A }}>")], [seen("team", "A", value)]);
        expect([envs[0]?.value, shared.map((one) => one.value)]).toEqual([`<${value}>`, [value]]);
      }),
    );
  });

  test("stop growing where no program starts any more, as one and together", () => {
    const long = [seen("team", "A", "x".repeat(131_000))];
    const [one] = resolveEnvs([env("A", "{{team.A}}".repeat(13_000))], long).envs;
    expect(one?.value?.length).toBeLessThan(400_000);
    const some = Array.from({ length: 200 }, (_, n) => env(`A${n}`, "{{team.A}}"));
    const sentence = "The values that the variables refer to exceed 16777216 characters.";
    expect(() => resolveEnvs(some, long)).toThrow(sentence);
    const views = envViews(some, { maySeeSecrets: true, seen: long, version: "" });
    const lengths = views.map(({ real_value }) => real_value?.length ?? 0);
    expect([lengths[0], lengths.at(-1)]).toEqual([131_000, "{{team.A}}".length]);
    expect(lengths.reduce((sum, length) => sum + length)).toBeLessThan(17_000_000);
  });

  test("are named with what leads to nothing", () => {
    const envs = [env("A", "{{ team.NONE }}{{server.NONE}}"), env("B", "{{ team.HOST }}"), env("C", "{{ galaxy.X }}")];
    expect(resolveEnvs(envs, all).unknown).toEqual([
      { key: "A", is_preview: false, references: ["{{ team.NONE }}", "{{ server.NONE }}"] },
    ]);
  });
});

describe("variables that name databases", () => {
  const url = "postgres://u:p%40ss@b4:5432/shop";
  const found = seen("database", "my shop-2.url", url);
  const parts = [seen("database", "my shop-2.host", "b4"), seen("database", "my shop-2.port", "5432")];
  const refused = { ...seen("database", "far.url", null), problem: "It is far away." };

  test.each([
    ["{{ database.my shop-2.url }}", url],
    ["{{database.my shop-2.url}}?pool=5", `${url}?pool=5`],
    ["{{ database.my shop-2.host }}:{{ database.my shop-2.port }}", "b4:5432"],
    ["{{ database.my shop-2.hostname }}", "{{ database.my shop-2.hostname }}"],
    ["{{ database.my shop-2 }}", "{{ database.my shop-2 }}"],
    ["{{ database.far.url }}", "{{ database.far.url }}"],
  ])("%j run as %j", (value, expected) => {
    expect(resolveEnvs([env("A", value)], [found, ...parts, refused]).envs[0]?.value).toBe(expected);
  });

  test("hide the password by itself too, and leave the other parts visible", () => {
    const { shared } = resolveEnvs([env("A", "{{ database.my shop-2.url }}")], [found, ...parts]);
    expect(shared.map(({ value }) => value)).toEqual([url, "p@ss"]);
    const password = seen("database", "public-file.password", "sunflower");
    expect(resolveEnvs([], [password]).shared).toEqual([{ key: "password", value: "sunflower" }]);
  });

  test("are named with a property that databases do not have", () => {
    const reference = "{{ database.my shop-2.hostname }}";
    expect(resolveEnvs([env("A", reference)], [found]).unknown).toMatchObject([{ references: [reference] }]);
    const near = "{{ database.my shop-2 }}";
    expect(resolveEnvs([env("A", near)], [found]).unknown).toMatchObject([{ references: [near] }]);
  });

  test("are shown with why they have no value, to those who may see it", () => {
    const options = { maySeeSecrets: true, seen: [found, refused], version: "" };
    const shown = (value: string, change: object = {}) => envViews([env("A", value)], { ...options, ...change })[0];
    expect(shown("{{ database.my shop-2.url }}?a={{ team.NONE }}")?.reference_problem).toBe(
      "{{ team.NONE }} has no target. Create it, or correct the reference.",
    );
    expect(shown("{{ database.far.url }}")?.reference_problem).toBe("It is far away.");
    expect(shown("{{ database.my shop-2.url }}")?.reference_problem).toBeNull();
    expect(shown("{{ database.my shop-2 }}")?.reference_problem).toBe(
      "{{ database.my shop-2 }} is not replaced. Write {{ database.NAME.PART }}, where PART is url, host, port, user, password or name.",
    );
    expect(shown("{{ database.far.url }}", { maySeeSecrets: false })?.reference_problem).toBeNull();
  });

  test("keep the property when the database gets another name", () => {
    const value = "{{ database.a.host.url }} {{database.shop.host}}:{{ database.shop.port }} {{ database.shop.x }}";
    expect(withDatabaseName(value, "shop", "b4")).toBe(
      "{{ database.a.host.url }} {{ database.b4.host }}:{{ database.b4.port }} {{ database.shop.x }}",
    );
    expect(withDatabaseName(value, "a.host", "b4")).toContain("{{ database.b4.url }} {{database.shop.host}}");
  });

  test("fail a deployment with the reason where the database is not reached, and only where they are used", () => {
    const resolved = resolveEnvs([env("A", "{{ database.far.url }}"), env("B", "{{ database.none.url }}")], [refused]);
    expect(resolved.unknown).toEqual([{ key: "B", is_preview: false, references: ["{{ database.none.url }}"] }]);
    expect(() => requireReachable(resolved, false)).toThrow("A: It is far away.");
    expect(() => requireReachable(resolved, true)).not.toThrow();
  });

  test.each([
    ["shop", true],
    ["My shop.url (2)", true],
    ["{{ team.A }}", false],
    ["a\nb", false],
  ])("can name %j: %s", (name, is) => {
    expect(isReferable(name)).toBe(is);
  });
});

describe("a shared variable", () => {
  const record = { ...newSharedVariable({ key: "TOKEN", value: "s3cret" }), ...{ id: 1, uuid: "u" } };
  const kept = { ...record, created_at: AT, updated_at: AT };

  test("shows its value to who may read secrets, unless it is shown once", () => {
    expect(sharedVariableView("team", kept, true)).toMatchObject({ value: "s3cret", reference: "{{ team.TOKEN }}" });
    expect(sharedVariableView("team", kept, false)).not.toHaveProperty("value");
    expect(sharedVariableView("team", { ...kept, is_shown_once: true }, true)).not.toHaveProperty("value");
  });

  test("is changed by what is sent alone", () => {
    expect(sharedVariableChange({ key: "TOKEN", comment: null, value: undefined })).toEqual({ comment: null });
  });

  test.each([
    [{ key: "1A" }, "key"],
    [{ key: "A", is_buildtime: true }, ""],
    [{ key: "A", value: "x".repeat(131_073) }, "value"],
  ])("refuses %j", (sent, field) => {
    expect(SharedVariableCreate.safeParse(sent).error?.issues[0]?.path.join(".")).toBe(field);
  });
});
