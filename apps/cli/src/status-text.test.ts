import { expect, test } from "vitest";
import { ranWith } from "./answers.fixture.ts";

test.each([
  ["apps", "applications.list", { urls: [] }],
  ["db", "databases.list", { image: "redis:8", is_public: false }],
  ["services", "services.list", { applications: [], databases: [] }],
])(
  "berth %s says why what it lists cannot run, and needs no server that says so",
  async (command, operation, fields) => {
    const problem = "Its data is on node n2, which is down.";
    const one = { uuid: "u1", name: "shop", status: "degraded:unhealthy", environment_name: "production", ...fields };
    const listed = [{ ...one, status_problem: problem }, one, { ...one, status_problem: null }];
    const { exitCode, stderr } = await ranWith({ [operation]: () => listed }, [command, "list"]);
    expect([exitCode, stderr]).toEqual([0, `Warning: shop: ${problem}\n`]);
  },
);
