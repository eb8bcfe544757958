import { z } from "zod";
import type { JobRecord } from "../ports/job.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { JOB_STATUSES, JOB_SUBJECT_TYPES, JOB_TYPES } from "./job-status.ts";
import { JobStep } from "./job-step.ts";

export const JobQuery = z.strictObject({
  status: z.enum(JOB_STATUSES).optional().describe("Only jobs with this status."),
  type: z.enum(JOB_TYPES).optional().describe("Only jobs of this type."),
  subject: z
    .string()
    .min(1)
    .max(255)
    .optional()
    .describe("Only jobs about the resource, preview or server with this uuid."),
});
export type JobQuery = z.infer<typeof JobQuery>;

export const Job = z
  .object({
    uuid: z.string(),
    type: z.enum(JOB_TYPES),
    status: z.enum(JOB_STATUSES).describe("Only moves forward."),
    subject_type: z.enum(JOB_SUBJECT_TYPES).describe("What the job is about."),
    subject_uuid: z.string(),
    subject_name: z.string().describe("Its name when the job was queued."),
    error: z.string().nullable().describe("Why it failed; while it is in progress, why its last attempt did."),
    attempts: z.int(),
    log: z.string().nullable().optional().describe("Its output, line by line. Only in the answer about a single job."),
    steps: z
      .array(JobStep)
      .nullable()
      .optional()
      .describe(
        "The steps of an installation and the checks of a validation so far. Only in the answer about a single job.",
      ),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
    updated_at: Timestamp,
  })
  .meta({ id: "Job", description: "Work that continues after its request was answered." });
export type Job = z.infer<typeof Job>;

export const jobView = (job: JobRecord): Job => ({
  uuid: job.uuid,
  type: job.type,
  status: job.status,
  subject_type: job.subject_type,
  subject_uuid: job.subject_uuid,
  subject_name: job.subject_name,
  error: job.error,
  attempts: job.attempts,
  ...(job.log === undefined ? {} : { log: job.log }),
  ...(job.steps === undefined ? {} : { steps: job.steps && [...job.steps] }),
  created_at: timestamp(job.created_at),
  started_at: timestampOrNull(job.started_at),
  finished_at: timestampOrNull(job.finished_at),
  updated_at: timestamp(job.updated_at),
});

/** The answer to a request that is processed in the background. */
export const JobStarted = z
  .object({
    message: z.string().describe("Message for people."),
    job_uuid: z.string().optional().describe("Identifier of the job: `GET /jobs/{uuid}` shows its progress."),
  })
  .meta({ id: "JobStarted", description: "A job that was started." });
export type JobStarted = z.infer<typeof JobStarted>;
