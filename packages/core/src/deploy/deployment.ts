import { z } from "zod";
import { statesOf, type Transitions } from "./transitions.ts";

export const DEPLOYMENT_STATUSES = ["queued", "in_progress", "finished", "failed", "cancelled-by-user"] as const;
export type DeploymentStatus = (typeof DEPLOYMENT_STATUSES)[number];
export const DeploymentStatus = z.enum(DEPLOYMENT_STATUSES);

/**
 * The legal transitions. An update names the statuses that it may start from, so a late worker cannot revive a
 * cancelled deployment.
 */
export const DEPLOYMENT_TRANSITIONS = {
  queued: ["in_progress", "cancelled-by-user", "failed"],
  in_progress: ["finished", "failed", "cancelled-by-user"],
  finished: [],
  failed: [],
  "cancelled-by-user": [],
} as const satisfies Transitions<DeploymentStatus>;

export const { mayBecome, isTerminal, sourcesOf } = statesOf<DeploymentStatus>(DEPLOYMENT_TRANSITIONS);

export const STEP_NAMES = ["checkout", "build", "start", "health", "switch", "retire"] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** `undone`: the step had run, and was reverted when the deployment failed or was cancelled. */
export const STEP_STATUSES = ["pending", "running", "done", "failed", "cancelled", "undone", "skipped"] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

export interface DeploymentStep {
  readonly name: StepName;
  readonly status: StepStatus;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  /** Output for later steps, also after a resume. Never contains secrets. */
  readonly output: Readonly<Record<string, unknown>> | null;
  /** One sentence, without secrets. */
  readonly error: string | null;
  readonly error_code: string | null;
}

/**
 * Title in a deployment's log, before the last lines that its release wrote.
 * @param container The one whose lines follow, if the release has several.
 */
export const releaseLogTitle = (container?: string): string =>
  `The last lines of the log of ${container === undefined ? "the release" : `container ${container}`}:`;

export const isReleaseLogTitle = (line: string): boolean => RELEASE_LOG_TITLE.test(line);

const RELEASE_LOG_TITLE = /^The last lines of the log of (the release|container \S+):$/;

/** One line of a deployment's log. `seq` grows by one a line within a deployment and is the cursor of a follower. */
export interface DeploymentLogLine {
  readonly seq: number;
  readonly step: StepName | null;
  readonly type: "stdout" | "stderr";
  readonly output: string;
  /** Only for callers that may read secrets. */
  readonly hidden: boolean;
  readonly timestamp: Date;
}
