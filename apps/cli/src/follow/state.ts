import type { DeploymentEvent, DeploymentStatus, StepName } from "@berth/core/deploy";

type StateEvent = Extract<DeploymentEvent, { type: "state" }>;
export type StepView = StateEvent["steps"][number];

/** State of a followed deployment. */
export interface FollowState {
  readonly status: DeploymentStatus | undefined;
  /** Uuid of the deployed resource. */
  readonly resourceUuid?: string;
  /** Reason of a failure, in one sentence. */
  readonly error: string | null;
  /** Total duration in milliseconds. */
  readonly tookMilliseconds: number | undefined;
  readonly steps: readonly StepView[];
  /** Last lines of each step, and of no step. */
  readonly lines: Readonly<Partial<Record<StepName | "none", readonly string[]>>>;
}

export const INITIAL_STATE: FollowState = {
  status: undefined,
  error: null,
  tookMilliseconds: undefined,
  steps: [],
  lines: {},
};

/** Enough to see the reason; another command shows the whole log. */
export const LINES_KEPT = 20;

export function apply(state: FollowState, event: DeploymentEvent): FollowState {
  if (event.type === "state") {
    const { deployment, steps } = event;
    const { status, error, started_at, finished_at, application_uuid: resourceUuid } = deployment;
    const isOver = started_at !== null && finished_at !== null;
    const tookMilliseconds = isOver ? Date.parse(finished_at) - Date.parse(started_at) : undefined;
    // The step `retire` runs after the deployment has ended.
    return {
      ...state,
      status,
      resourceUuid,
      error,
      tookMilliseconds,
      steps: steps.filter(({ name }) => name !== "retire"),
    };
  }
  const { step, output } = event.line;
  if (step !== null && marks(step).test(output)) return state;
  const key = step ?? "none";
  const kept = [...(state.lines[key] ?? []), output].slice(-LINES_KEPT);
  return { ...state, lines: { ...state.lines, [key]: kept } };
}

/** Log lines that report the beginning and end of a step, for which the view has symbols. */
const marks = (step: StepName) => new RegExp(`^(> ${step}$|${step} (done in|ended after) )`);

export const STEP_TITLES: Readonly<Record<StepName, string>> = {
  checkout: "Fetch the source",
  build: "Build",
  start: "Start",
  health: "Check its health",
  switch: "Switch the traffic",
  retire: "Retire the old release",
};

/** The step that failed, if any. */
export const failedStep = ({ steps }: FollowState): StepView | undefined =>
  steps.find(({ status }) => status === "failed") ?? steps.find(({ status, error }) => status === "undone" && error);

/** Duration of a step so far, in milliseconds; `undefined` before it begins. */
export function tookMilliseconds({ started_at, finished_at }: StepView, now: Date): number | undefined {
  if (started_at === null) return undefined;
  const end = finished_at === null ? now.getTime() : new Date(finished_at).getTime();
  return Math.max(0, end - new Date(started_at).getTime());
}
