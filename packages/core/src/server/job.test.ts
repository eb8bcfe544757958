import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJobOver, JOB_STATUSES, JOB_TRANSITIONS, type JobStatus, jobSourcesOf } from "./job-status.ts";

const RANK: Record<JobStatus, number> = { queued: 0, in_progress: 1, finished: 2, failed: 2 };

describe("a job", () => {
  test("only ever moves forward", () => {
    for (const from of JOB_STATUSES)
      for (const to of JOB_TRANSITIONS[from]) expect(RANK[to]).toBeGreaterThan(RANK[from]);
  });

  test("ends after at most two steps, and stays as it ended, whatever it is asked to become", () => {
    const wishes = fc.array(fc.constantFrom(...JOB_STATUSES));
    fc.assert(
      fc.property(wishes, (sequence) => {
        let status: JobStatus = "queued";
        let steps = 0;
        for (const wish of sequence) {
          if (!jobSourcesOf(wish).includes(status)) continue;
          expect(isJobOver(status)).toBe(false);
          status = wish;
          steps += 1;
        }
        expect(steps).toBeLessThanOrEqual(2);
      }),
    );
  });
});
