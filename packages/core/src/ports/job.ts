import type { JobStatus, JobSubjectType, JobType } from "../server/job-status.ts";
import type { JobStep } from "../server/job-step.ts";
import type { ClaimRequest, RenewableRuns } from "./lease.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** Work that continues after its request was answered. The record outlives the subject. */
export interface JobRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly type: JobType;
  readonly subject_type: JobSubjectType;
  readonly subject_id: number;
  readonly subject_uuid: string;
  /** Name at the time of the request. */
  readonly subject_name: string;
  readonly status: JobStatus;
  /** Why it or its last attempt failed, as a sentence without secrets. */
  readonly error: string | null;
  readonly attempts: number;
  /** Output; only when a single job was requested. */
  readonly log?: string | null;
  /** Steps of an installation and checks of a validation so far; only when a single job was requested. */
  readonly steps?: readonly JobStep[] | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
}

export interface NewJob {
  readonly uuid: string;
  readonly type: JobType;
  readonly subject: {
    readonly type: JobSubjectType;
    readonly id: number;
    readonly uuid: string;
    readonly name: string;
  };
}

export interface JobFilter {
  readonly status?: JobStatus | undefined;
  readonly type?: JobType | undefined;
  /** Uuid of the subject. */
  readonly subject?: string | undefined;
}

export interface JobStore {
  /** Newest first. */
  list(filter: JobFilter, paging?: Paging): Promise<Page<JobRecord>>;
  find(uuid: string): Promise<JobRecord | undefined>;
  /**
   * Queues jobs and wakes the workers, in the transaction of the change that they belong to. If an equal job of the
   * same subject has not ended, that one is returned. The result has the order of `jobs`.
   */
  request(jobs: readonly NewJob[]): Promise<readonly JobRecord[]>;
}

/** A worker's lease of a job. Writes with an older `attempt` change nothing. */
export interface JobLease {
  readonly job_id: number;
  readonly owner: string;
  readonly attempt: number;
}

type Subject = Pick<NewJob, "type"> & { readonly subject_id: number };

/**
 * Jobs without a lease follow the state of their subject: a removal continues while the subject's row exists. They
 * are reported by `begin` and `note`, and end with the row. Others are claimed with a lease.
 */
export interface SystemJobStore extends RenewableRuns {
  /** Records that an attempt begins: the first one, or one after a failure. */
  begin(subject: Subject): Promise<void>;
  /** Records the error of the last attempt; `null` while it waits. */
  note(subject: Subject, error: string | null): Promise<void>;
  /**
   * Claims the oldest job of these types and subjects that is queued or whose lease expired, from the team with the
   * fewest running jobs.
   */
  claim(
    types: readonly JobType[],
    subjectIds: readonly number[],
    request: Omit<ClaimRequest, "at">,
  ): Promise<{ readonly lease: JobLease; readonly job: JobRecord } | undefined>;
  /**
   * Fenced, and only along a legal transition. With a failed job, its running steps fail with the same error.
   * `false` if the lease is lost.
   */
  finish(lease: JobLease, status: "finished" | "failed", error: string | null): Promise<boolean>;
  /** Replaces the output so far. `false` if the lease is lost. */
  writeLog(lease: JobLease, log: string): Promise<boolean>;
  /** Replaces the steps so far, and emits an event. `false` if the lease is lost. */
  writeSteps(lease: JobLease, steps: readonly JobStep[]): Promise<boolean>;
  /** The last request of such work, by the subject's id. Missing: never, or its record was already deleted. */
  lastRequests(type: Subject["type"], subjectIds: readonly number[]): Promise<ReadonlyMap<number, Date>>;
  /** Deletes records of jobs that ended longer ago. Returns their number. */
  prune(keptDays: number): Promise<number>;
}
