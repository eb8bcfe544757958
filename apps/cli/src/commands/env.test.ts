import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const env = (key: string, is_preview = false) => ({ uuid: key, key, value: "1", is_preview });
const answers = {
  "applications.list": () => [{ uuid: "a1", name: "shop" }],
  "applications.envs.list": () => [env("DATABASE_URL"), env("GREETING"), env("GREETINGS", true)],
};

test.each([
  ["rm", ["DATABSE_URL"], "shop has no variable DATABSE_URL. Did you mean DATABASE_URL?\n"],
  ["rm", ["greeting", "database_url"], "greeting, database_url. Did you mean GREETING, DATABASE_URL?\n"],
  ["rm", ["TOTALLY_ELSE"], "shop has no variable TOTALLY_ELSE.\n"],
  ["get", ["GREETIN"], "shop has no variable GREETIN. Did you mean GREETING?\n"],
])("env %s %j of keys that do not exist names those like them, and removes nothing", async (verb, keys, said) => {
  const ran = await ranWith(answers, ["env", verb, ...keys, "--app", "shop"]);
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining(said)]);
  expect(ran.called).not.toContain("applications.envs.delete");
});
