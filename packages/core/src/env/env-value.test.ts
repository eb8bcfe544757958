import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { interpolate, isShared, nearReferencesIn, realValue, referencesIn } from "./env-value.ts";

const shared = {
  team: new Map([["NAME", "berth"]]),
  project: new Map([
    ["URL", "http://x"],
    ["SELF", "{{ team.NAME }}"],
  ]),
};

describe("shared references", () => {
  test.each([
    ["{{team.NAME}}", "berth"],
    ["{{ team.NAME }}-{{project.URL}}/{{ team.NAME }}", "berth-http://x/berth"],
    ["{{ team.OTHER }}", "{{ team.OTHER }}"],
    ["{{ environment.NAME }}", "{{ environment.NAME }}"],
    ["{{ galaxy.NAME }}", "{{ galaxy.NAME }}"],
    ["{{ project.SELF }}", "{{ team.NAME }}"],
    ["$& {team.NAME} {{}}", "$& {team.NAME} {{}}"],
  ])("%s becomes %s", (value, expected) => {
    expect(interpolate(value, shared)).toBe(expected);
  });

  test.each([
    ["{{ team.NAME }}", true],
    [" {{team.NAME}} ", true],
    ["x{{ team.NAME }}", false],
    ["{{ team.NAME }}{{ team.NAME }}", false],
    [null, false],
  ])("%j is one shared reference: %s", (value, expected) => {
    expect(isShared(value)).toBe(expected);
  });

  test("are named once each, in their order, wherever they stand", () => {
    const values = ["{{ team.A }}x{{server.B}}", null, "{{ galaxy.C }} {{ team.A }}", "{{ environment.A }}"];
    expect(referencesIn(values)).toEqual([
      { scope: "team", key: "A" },
      { scope: "server", key: "B" },
      { scope: "environment", key: "A" },
    ]);
  });

  test("leave every other value byte for byte", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        fc.pre(!value.includes("{{"));
        expect(interpolate(value, shared)).toBe(value);
      }),
    );
  });
});

describe("what looks like a reference", () => {
  test.each([
    ["{{ database.orders }}", "Write {{ database.NAME.PART }}"],
    ["{{ databases.orders.url }}", "Write {{ database.NAME.PART }}"],
    ["{{ database.orders.uri }}", "Write {{ database.NAME.PART }}"],
    ["{{ team KEY }}", "Write {{ team.KEY }}."],
    ["{{Team.KEY}}", "Write {{ team.KEY }}."],
    ["{{ environment.MY-KEY }}", "Write {{ environment.KEY }}."],
  ])("%s is not replaced, and what to write is said", (text, remedy) => {
    expect(interpolate(text, { team: new Map([["KEY", "x"]]) })).toBe(text);
    const [found, ...more] = nearReferencesIn(`a ${text} b`);
    expect(more).toEqual([]);
    expect(found).toMatchObject({ text, remedy: expect.stringContaining(remedy) });
  });

  test.each([
    "{{ team.KEY }}",
    "{{database.orders.url}}",
    "{{ teams.KEY }}",
    "{{ .Values.database }}",
    "{{ team",
    "{database}",
  ])("%s is not one", (text) => expect(nearReferencesIn(text)).toEqual([]));
});

describe("real_value", () => {
  const plain = { is_literal: false, is_multiline: false };
  test.each([
    ["abc", plain, "abc"],
    ['say "hi"', plain, 'say \\"hi\\"'],
    ["it's\ta\rb\\", plain, "it\\'s\\ta\\rb\\\\"],
    ["line\nline", plain, "line\nline"],
    ['{"a":"b"}', plain, '{"a":"b"}'],
    ["[1, 2]", plain, "[1, 2]"],
    ["{not json", plain, "{not json"],
    ["a'b", { is_literal: true, is_multiline: false }, "'a'b'"],
    ["a\nb", { is_literal: false, is_multiline: true }, "'a\nb'"],
    ["{{ team.NAME }}", plain, "berth"],
    ["", plain, ""],
    [null, plain, null],
  ])("of %j is quoted as clients expect", (value, flags, expected) => {
    expect(realValue({ value, ...flags }, shared)).toBe(expected);
  });
});
