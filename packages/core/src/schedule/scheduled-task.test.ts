import { describe, expect, test } from "vitest";
import type { ScheduledTaskExecutionRecord } from "../ports/scheduled-task.ts";
import {
  newScheduledTask,
  ScheduledTaskCreate,
  ScheduledTaskUpdate,
  scheduledTaskExecutionView,
} from "./scheduled-task.ts";

const sent = { name: "Clean up", command: "true", frequency: "daily" };
const problemsOf = (change: object) =>
  ScheduledTaskCreate.safeParse({ ...sent, ...change }).error?.issues.map(({ path, message }) => [
    path.join("."),
    message,
  ]);

describe("a scheduled task", () => {
  test("has the contract's defaults", () => {
    expect(newScheduledTask(ScheduledTaskCreate.parse(sent))).toEqual({
      ...sent,
      container: null,
      timeout: 300,
      enabled: true,
    });
  });

  test.each(["*/5 * * * *", "every_minute", "@midnight", " 0 3 * * 1-5 "])(
    "keeps the frequency %j as it is written",
    (frequency) => {
      expect(ScheduledTaskCreate.parse({ ...sent, frequency }).frequency).toBe(frequency);
    },
  );

  test.each(["", "sometimes", "* * * *", "61 * * * *", "* * * * * *", "0 0 31 2 *", "x".repeat(300)])(
    "refuses the frequency %j",
    (frequency) => {
      expect(problemsOf({ frequency })).toContainEqual(["frequency", "Invalid cron expression or frequency format."]);
    },
  );

  test("reads numbers and flags that are sent as text, and no container from an empty one", () => {
    const read = ScheduledTaskCreate.parse({ ...sent, timeout: "60", enabled: "0", container: "" });
    expect(read).toMatchObject({ timeout: 60, enabled: false, container: null });
  });

  test("loses tags in its name, and nothing of its command", () => {
    const command = "<b> echo '$x' \n";
    expect(ScheduledTaskCreate.parse({ ...sent, name: "<i>Clean</i> up", command })).toMatchObject({
      name: "Clean up",
      command,
    });
  });

  test.each([
    [{ timeout: 0 }, "timeout"],
    [{ timeout: 1.5 }, "timeout"],
    [{ timeout: 2 ** 31 }, "timeout"],
    [{ enabled: "yes" }, "enabled"],
    [{ command: "" }, "command"],
    [{ command: "x".repeat(65_537) }, "command"],
    [{ name: "<b></b>" }, "name"],
    [{ container: "x".repeat(256) }, "container"],
  ])("refuses %j", (change, field) => {
    expect(problemsOf(change)?.map(([path]) => path)).toEqual([field]);
  });

  test("[S52] takes no field outside of the accepted ones, in a creation or a change", () => {
    for (const schema of [ScheduledTaskCreate, ScheduledTaskUpdate]) {
      const { error } = schema.safeParse({ ...sent, uuid: "x", team_id: 1 });
      expect(error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["uuid", "team_id"] }]);
    }
  });
});

describe("an execution", () => {
  const started_at = new Date("2026-01-02T03:04:05.678Z");
  const record: ScheduledTaskExecutionRecord = {
    id: 1,
    uuid: "x",
    status: "running",
    message: null,
    error_details: null,
    retry_count: 0,
    exit_code: null,
    due_at: null,
    started_at,
    finished_at: null,
    created_at: started_at,
    updated_at: started_at,
  };

  test("[S18] tells how long it took as a decimal text, once it has ended", () => {
    expect(scheduledTaskExecutionView(record)).toMatchObject({ duration: null, finished_at: null });
    const after = (ms: number) => new Date(started_at.getTime() + ms);
    const ended = (ms: number) => scheduledTaskExecutionView({ ...record, finished_at: after(ms) });
    expect(ended(1500)).toMatchObject({ duration: "1.50", finished_at: "2026-01-02T03:04:07.178000Z" });
    expect(ended(-5).duration).toBe("0.00");
  });
});
