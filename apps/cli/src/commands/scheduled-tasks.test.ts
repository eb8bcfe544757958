import { describe, expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const TASK = { uuid: "t1", name: "nightly", frequency: "daily", command: "true", enabled: true };

async function ran(...argv: readonly string[]) {
  const sent: unknown[] = [];
  const answers = {
    "applications.list": () => [{ uuid: "a1", name: "shop", source: "upload" }],
    "applications.scheduledTasks.list": () => [TASK],
    "applications.scheduledTasks.update": (input: unknown) => {
      sent.push(input);
      return TASK;
    },
    "applications.scheduledTasks.delete": (input: unknown) => {
      sent.push(input);
      return { message: "Scheduled task deleted." };
    },
  };
  return { ...(await ranWith(answers, ["task", ...argv, "--app", "shop"])), sent };
}

describe("a scheduled task", () => {
  test("is changed by its name, and what changed is said", async () => {
    const { exitCode, stdout, sent } = await ran("update", "nightly", "--no-enabled", "--frequency", "hourly");
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^nightly: changed .*enabled.*\.\n$/)]);
    expect(sent).toEqual([{ uuid: "a1", task_uuid: "t1", enabled: false, frequency: "hourly" }]);
    expect((await ran("update", "nightly")).stderr).toContain("berth scheduled-tasks update --help");
  });

  test.each([["delete"], ["rm"], ["remove"]])("is deleted by its name, once that is confirmed: %s", async (verb) => {
    const asked = await ran(verb, "nightly");
    expect([asked.exitCode, asked.sent, asked.stderr]).toEqual([2, [], expect.stringContaining("--yes")]);
    const { exitCode, stdout, sent } = await ran(verb, "nightly", "--yes");
    expect([exitCode, stdout, sent]).toEqual([0, "Scheduled task deleted.\n", [{ uuid: "a1", task_uuid: "t1" }]]);
  });
});
