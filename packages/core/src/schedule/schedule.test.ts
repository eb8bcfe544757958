import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { timesOf } from "./cron.ts";
import { LATE_SECONDS_MAX, MISSED_COUNT_MAX, scheduleStep } from "./schedule.ts";

const at = (text: string) => new Date(text);
const schedule = {
  frequency: "0 * * * *",
  timezone: "UTC",
  is_planned: true,
  changed_at: at("2026-05-01T09:10:00Z"),
  due_at: at("2026-05-01T10:00:00Z"),
};

describe("what a schedule does next", () => {
  test("runs what is due, and then waits for the next time", () => {
    expect(scheduleStep(schedule, at("2026-05-01T10:00:03Z"))).toEqual({
      run: at("2026-05-01T10:00:00Z"),
      missed: undefined,
      next: at("2026-05-01T11:00:00Z"),
    });
  });

  test("runs what is late once, and says how many times passed by meanwhile", () => {
    expect(scheduleStep(schedule, at("2026-05-01T13:30:00Z"))).toEqual({
      run: at("2026-05-01T10:00:00Z"),
      missed: { due_at: at("2026-05-01T10:00:00Z"), skipped: 3 },
      next: at("2026-05-01T14:00:00Z"),
    });
  });

  test("passes no time over that is only just late", () => {
    const everyMinute = { ...schedule, frequency: "every_minute" };
    const { next, missed } = scheduleStep(everyMinute, at("2026-05-01T10:01:00Z"));
    expect([next, missed]).toEqual([at("2026-05-01T10:01:00Z"), undefined]);
  });

  test("counts what was missed only so far", () => {
    const everyMinute = { ...schedule, frequency: "every_minute" };
    expect(scheduleStep(everyMinute, at("2027-05-01T10:00:30Z"))).toMatchObject({
      missed: { skipped: MISSED_COUNT_MAX },
      next: at("2027-05-01T10:01:00Z"),
    });
  });

  test("begins with the first time after its change, also when it is seen behind that time", () => {
    const changed = { ...schedule, is_planned: false, changed_at: at("2026-05-01T09:59:59Z"), due_at: new Date(0) };
    expect(scheduleStep(changed, at("2026-05-01T10:00:01Z"))).toEqual({
      run: undefined,
      missed: undefined,
      next: at("2026-05-01T10:00:00Z"),
    });
  });

  test("has missed nothing from before anybody looked after its kind", () => {
    const old = { ...schedule, is_planned: false, changed_at: at("2025-05-01T09:59:59Z"), due_at: new Date(0) };
    expect(scheduleStep(old, at("2026-05-01T10:00:01Z")).next).toEqual(at("2026-05-01T11:00:00Z"));
  });

  test("ends where there is no further time", () => {
    expect(scheduleStep({ ...schedule, frequency: "no expression" }, at("2026-05-01T10:00:03Z")).next).toBeUndefined();
  });

  test("runs each due time once and in order, however late and often it is looked at", () => {
    const frequency = fc.constantFrom("* * * * *", "*/7 * * * *", "30 2 * * *", "0 3 * * 0", "15 1-3 * * *");
    const timezone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe");
    const start = fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2027, 0) });
    const waits = fc.array(fc.integer({ min: 1, max: 3 * 86_400 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(frequency, timezone, start, waits, (frequency, timezone, startMs, waits) => {
        let nowMs = startMs;
        const first = timesOf(frequency, timezone)(new Date(nowMs));
        let state = { ...schedule, frequency, timezone, due_at: first ?? new Date(0) };
        const runs: number[] = [];
        for (const seconds of waits) {
          nowMs += seconds * 1000;
          while (state.due_at.getTime() <= nowMs) {
            const { run, missed, next } = scheduleStep(state, new Date(nowMs));
            if (run === undefined || next === undefined) throw new Error("It has a next time");
            expect(run).toEqual(state.due_at);
            expect(missed !== undefined).toBe(nowMs - run.getTime() > LATE_SECONDS_MAX * 1000);
            expect(next.getTime()).toBeGreaterThan(run.getTime());
            runs.push(run.getTime());
            state = { ...state, due_at: next };
          }
        }
        expect(runs).toEqual([...new Set(runs)].sort((a, b) => a - b));
      }),
      { numRuns: 60 },
    );
  });
});
