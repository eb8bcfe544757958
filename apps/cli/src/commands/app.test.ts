import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

test.each([["create"], ["new"]])("app %s, where no application is called so, says how one is made", async (word) => {
  const answers = {
    "applications.list": () => [{ uuid: "a1", name: "shop", environment_name: "production", urls: [] }],
    "databases.list": () => [],
    "services.list": () => [],
  };
  const ran = await ranWith(answers, ["app", word]);
  expect([ran.exitCode, ran.stderr]).toEqual([2, expect.stringContaining("with: berth deploy\n")]);
});
