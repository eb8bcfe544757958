import type { JobStatus, JobSubjectType, JobType } from "../server/job-status.ts";
import type { ClaimRequest, RenewableRuns } from "./lease.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** Work that continues after its request was answered: the record of it, which outlives what it is about. */
export interface JobRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly type: JobType;
  readonly subject_type: JobSubjectType;
  readonly subject_id: number;
  readonly subject_uuid: string;
  /** As it was when the work was asked for. */
  readonly subject_name: string;
  readonly status: JobStatus;
  /** One sentence, without secrets: why it failed, or why its last attempt did. */
  readonly error: string | null;
  readonly attempts: number;
  /** Output; only when a single job was requested. */
  readonly log?: string | null;
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
  /** Uuid. */
  readonly subject?: string | undefined;
}

export interface JobStore {
  /** Newest first. */
  list(filter: JobFilter, paging?: Paging): Promise<Page<JobRecord>>;
  find(uuid: string): Promise<JobRecord | undefined>;
  /**
   * Queues work and wakes the workers, in the transaction of the change that it belongs to. Where the same work on the
   * same subject has not ended yet, that job is answered instead: in the order of `jobs`.
   */
  request(jobs: readonly NewJob[]): Promise<readonly JobRecord[]>;
}

/** Names a worker's hold of a job. Writes with an older `attempt` change nothing. */
export interface JobLease {
  readonly job_id: number;
  readonly owner: string;
  readonly attempt: number;
}

type Subject = Pick<NewJob, "type"> & { readonly subject_id: number };

/**
 * Jobs whose work is seen from the state of their subject (a removal continues while its row is there) are reported by
 * `begin` and `note`, and end with the row. The others are held by a lease.
 */
export interface SystemJobStore extends RenewableRuns {
  /** An attempt begins: the first one, or one after a failure. */
  begin(subject: Subject): Promise<void>;
  /** Records the error of the last attempt; `null` while it waits. */
  note(subject: Subject, error: string | null): Promise<void>;
  /**
   * Takes one of these types that is queued, or whose lease ran out, of these subjects; oldest first, of the
   * team that has the fewest running.
   */
  claim(
    types: readonly JobType[],
    subjectIds: readonly number[],
    request: Omit<ClaimRequest, "at">,
  ): Promise<{ readonly lease: JobLease; readonly job: JobRecord } | undefined>;
  /** Fenced, and only along a legal transition. `false` when the lease is lost. */
  finish(lease: JobLease, status: "finished" | "failed", error: string | null): Promise<boolean>;
  /** Replaces what it printed so far. `false` when the lease is lost. */
  writeLog(lease: JobLease, log: string): Promise<boolean>;
  /** When such work was asked for last, by the subject's id. Missing: never, or so long ago that it is forgotten. */
  lastRequests(type: Subject["type"], subjectIds: readonly number[]): Promise<ReadonlyMap<number, Date>>;
  /** Forgets what ended so long ago. Answers how many. */
  prune(keptDays: number): Promise<number>;
}
