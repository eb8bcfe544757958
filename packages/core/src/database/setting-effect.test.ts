import { expect, test } from "vitest";
import { changesDatabaseUrl, needsDatabaseRestart } from "./setting-effect.ts";

test.each([
  ["postgres_password", true, true],
  ["redis_password", true, true],
  ["enable_ssl", true, true],
  ["image", true, false],
  ["postgres_conf", true, false],
  ["public_port", false, true],
  ["name", false, false],
])("a changed %s needs a restart: %s, and changes the URL: %s", (field, needsRestart, changesUrl) => {
  expect([needsDatabaseRestart(field), changesDatabaseUrl(field)]).toEqual([needsRestart, changesUrl]);
});
