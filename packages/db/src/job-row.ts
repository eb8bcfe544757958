import type { JobRecord } from "@berth/core/ports";
import type { JobStatus, JobType } from "@berth/core/server";
import { jobSourcesOf } from "@berth/core/server";
import { type RawBuilder, sql } from "kysely";
import { emit, notifyRun, type StoreContext } from "./context.ts";
import { storable } from "./storable.ts";

export const JOB_COLUMNS = [
  "job.id",
  "job.uuid",
  "job.team_id",
  "job.type",
  "job.subject_type",
  "job.subject_id",
  "job.subject_uuid",
  "job.subject_name",
  "job.status",
  "job.error",
  "job.attempts",
  "job.started_at",
  "job.finished_at",
  "job.created_at",
  "job.updated_at",
] as const;

/** Literal, so that PostgreSQL recognises that the partial index covers the condition. */
export const isActiveJob = sql<boolean>`job.status in ('queued', 'in_progress')`;

export interface JobSubject {
  readonly type: JobType;
  readonly subject_id: number;
}

export const isAbout = ({ type, subject_id }: JobSubject) =>
  sql<boolean>`job.subject_id = ${subject_id} and job.type = ${type} and ${isActiveJob}`;

/** Ends all matching jobs that have not ended; with a failed one, its running steps fail. Only in a transaction. */
export async function endJobs(
  context: StoreContext,
  isMeant: RawBuilder<boolean>,
  status: Extract<JobStatus, "finished" | "failed">,
  error: string | null,
): Promise<readonly JobRecord[]> {
  const now = sql<Date>`now()`;
  const ended = await context.db
    .updateTable("job")
    .set({
      status,
      error: error && storable(error),
      ...(status === "failed" && { steps: failedSteps(error) }),
      started_at: sql<Date>`coalesce(started_at, now())`,
      finished_at: now,
      updated_at: now,
      lease_owner: null,
      lease_expires_at: null,
    })
    .where(isMeant)
    .where("status", "in", jobSourcesOf(status))
    .returning(JOB_COLUMNS)
    .execute();
  for (const job of ended) emitJobEvent(context, job);
  return ended;
}

/** No step of a failed job is still running: the worker that ran it may have been killed before it recorded the end. */
const failedSteps = (error: string | null) =>
  sql<string>`coalesce((select jsonb_agg(case when step->>'result' = 'running'
    then step || jsonb_strip_nulls(jsonb_build_object('result', 'failed', 'message', ${error && storable(error)}::text))
    else step end order by number)
    from jsonb_array_elements(job.steps) with ordinality as each(step, number)), job.steps)`;

export function emitJobEvent(context: StoreContext, job: JobRecord, what: string = job.status): void {
  notifyRun(context, job.uuid);
  emit(context, {
    team_id: job.team_id,
    type: `job.${what}`,
    resource_uuid: job.subject_uuid,
    payload: {
      job_uuid: job.uuid,
      job_type: job.type,
      subject_type: job.subject_type,
      subject_name: job.subject_name,
      ...(job.error === null ? {} : { error: job.error }),
    },
  });
}
