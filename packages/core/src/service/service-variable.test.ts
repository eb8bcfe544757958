import { expect, test } from "vitest";
import { parseCompose } from "../compose/parse.ts";
import { newEnv } from "../env/env.ts";
import type { EnvRecord } from "../ports/records.ts";
import { planVariables } from "./service-variable.ts";

const variablesOf = (value: string) => {
  const compose = parseCompose(`services: { web: { image: a, environment: { KEY: '${value}' } } }`);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return compose.variables;
};

/** The value of a variable after its compose file was replaced; `undefined` where it stays. */
function replacedValue(key: string, value: string, files: { readonly before: string; readonly after: string }) {
  const existing = [{ uuid: "of-the-variable", ...newEnv({ key, value }) } as EnvRecord];
  const plan = planVariables({
    ...{ variables: variablesOf(files.after), replaced: variablesOf(files.before), existing, isNewCompose: true },
    ...{ urls: [], publicUrl: (url) => url, now: new Date(0) },
    source: { secret: () => "generated", bytes: () => new Uint8Array(8), hmacSha256: () => new Uint8Array(32) },
  });
  return plan.update[0]?.change.value;
}

test.each([
  ["follows a changed default", "1", "${A:-1}", "${A:-2}", "2"],
  ["follows a default that is new", "", "${A}", "${A:-2}", "2"],
  ["stays where a user has set another", "7", "${A:-1}", "${A:-2}", undefined],
  ["stays where the default stays", "1", "${A:-1}", "x${A:-1}", undefined],
  ["stays where the default was removed", "1", "${A:-1}", "${A}", undefined],
  ["stays where the old file does not name it", "1", "none", "${A:-2}", undefined],
])("a value %s", (_, value, before, after, expected) => {
  expect(replacedValue("A", value, { before, after })).toBe(expected);
});

test("a generated value stays, whatever default is written for it", () => {
  const key = "SERVICE_PASSWORD_A";
  const files = { before: `\${${key}:-1}`, after: `\${${key}:-2}` };
  expect(replacedValue(key, "1", files)).toBeUndefined();
});
