import { RESOURCE_KINDS, type ResourceKind } from "../resource/resource.ts";

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

/** The kind of a job's subject. */
export type JobSubjectType = ResourceKind | "preview" | "server";

// The type of `Object.keys` is wider: these are the kinds.
export const JOB_SUBJECT_TYPES = ["preview", "server", ...(Object.keys(RESOURCE_KINDS) as ResourceKind[])] as const;

export const JOB_STATUSES = ["queued", "in_progress", "finished", "failed"] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** The legal transitions. An update names the statuses that it may start from. */
export const JOB_TRANSITIONS = {
  queued: ["in_progress", "finished", "failed"],
  in_progress: ["finished", "failed"],
  finished: [],
  failed: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

/** The statuses that may precede `to`, for the `where status in (...)` of an update. */
export const jobSourcesOf = (to: JobStatus): readonly JobStatus[] =>
  JOB_STATUSES.filter((from) => (JOB_TRANSITIONS[from] as readonly JobStatus[]).includes(to));

export const isJobOver = (status: JobStatus): boolean => JOB_TRANSITIONS[status].length === 0;
