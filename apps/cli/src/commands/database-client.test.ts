import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const DATABASE = { uuid: "d1", name: "shop", database_type: "standalone-postgresql", status: "running:healthy" };
const ANSWERS = {
  "databases.list": () => [DATABASE],
  "databases.client": ({ statements }: Readonly<Record<string, unknown>>) => ({
    ...{ output: `ran ${statements}\n`, errors: "", exit_code: 0, is_truncated: false },
  }),
};

test("runs what is piped in", async () => {
  const ran = await ranWith(ANSWERS, ["db", "psql", "shop"], { input: "SELECT 1;\n" });
  expect(ran).toMatchObject({ exitCode: 0, stdout: "ran SELECT 1;\n" });
});

test.each([
  ["without a terminal and with nothing piped in", [], "psql needs a terminal, or statements"],
  ["for an empty command", ["--command", " "], "psql needs a terminal, or statements"],
])("says what to type %s, and sends nothing", async (_case, flags, message) => {
  const ran = await ranWith(ANSWERS, ["db", "psql", "shop", ...flags]);
  expect([ran.exitCode, ran.called]).toEqual([2, ["databases.list"]]);
  expect(ran.stderr).toContain(message);
  expect(ran.stderr).toContain("berth db psql shop --command STATEMENT");
  expect(ran.stderr).toContain("berth db psql shop <FILE");
});

test("names the database as it was typed where another client opens it", async () => {
  const ran = await ranWith(ANSWERS, ["db", "redis-cli", "shop"]);
  expect(ran.stderr).toBe("shop cannot be opened with redis-cli.\n  Use: berth db psql shop\n");
});
