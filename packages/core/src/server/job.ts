import { z } from "zod";
import type { JobRecord } from "../ports/job.ts";
import { RESOURCE_KINDS, type ResourceKind } from "../resource/resource.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";

export const JOB_TYPES = [
  "preview.delete",
  "resource.delete",
  "server.cleanup",
  "server.delete",
  "server.install_engine",
  "server.restart_proxy",
  "server.start_proxy",
  "server.stop_proxy",
  "server.validate",
] as const;
export type JobType = (typeof JOB_TYPES)[number];

/** The kind of what a job is about. */
export type JobSubjectType = ResourceKind | "preview" | "server";
// `keys` forgets that the keys are the kinds.
const JOB_SUBJECT_TYPES = ["preview", "server", ...(Object.keys(RESOURCE_KINDS) as ResourceKind[])] as const;

export const JOB_STATUSES = ["queued", "in_progress", "finished", "failed"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** The legal transitions, and the only ones: an update names the statuses it may come from. */
export const JOB_TRANSITIONS = {
  queued: ["in_progress", "finished", "failed"],
  in_progress: ["finished", "failed"],
  finished: [],
  failed: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

/** The statuses from which `to` may be reached, for the `where status in (...)` of an update. */
export const jobSourcesOf = (to: JobStatus): readonly JobStatus[] =>
  JOB_STATUSES.filter((from) => (JOB_TRANSITIONS[from] as readonly JobStatus[]).includes(to));

export const isJobOver = (status: JobStatus): boolean => JOB_TRANSITIONS[status].length === 0;

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
    status: z.enum(JOB_STATUSES).describe("Only ever moves forward."),
    subject_type: z.enum(JOB_SUBJECT_TYPES).describe("What the job is about."),
    subject_uuid: z.string(),
    subject_name: z.string().describe("Its name when the job was queued."),
    error: z.string().nullable().describe("Why it failed; while it is in progress, why its last attempt did."),
    attempts: z.int(),
    log: z.string().nullable().optional().describe("What it printed, a line each. Only in the answer about one job."),
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
  created_at: timestamp(job.created_at),
  started_at: timestampOrNull(job.started_at),
  finished_at: timestampOrNull(job.finished_at),
  updated_at: timestamp(job.updated_at),
});

/** The answer to what is done in the background. */
export const JobStarted = z
  .object({
    message: z.string().describe("What was asked for, for people."),
    job_uuid: z.string().optional().describe("Names the work: `GET /jobs/{uuid}` tells how far it is."),
  })
  .meta({ id: "JobStarted", description: "Work that was begun." });
export type JobStarted = z.infer<typeof JobStarted>;
