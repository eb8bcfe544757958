import type { DeploymentEvent, StepName, StepStatus } from "@berth/core/deploy";

type StateEvent = Extract<DeploymentEvent, { type: "state" }>;

/** Start time of all test deployments. */
export const BEGAN = new Date("2026-01-02T03:04:00Z");
const later = (seconds: number) => new Date(BEGAN.getTime() + seconds * 1000).toISOString().replace("Z", "000Z");

export function lineEvent(seq: number, step: StepName | null, output: string): DeploymentEvent {
  const timestamp = later(seq);
  return { type: "line", line: { seq, step, type: "stdout", output, hidden: false, timestamp } };
}

type StepGiven = readonly [name: StepName, status: StepStatus, from?: number, to?: number, error?: string];

/** @param steps Steps with the seconds at which they began and ended. */
export function stateEvent(
  status: StateEvent["deployment"]["status"],
  steps: readonly StepGiven[] = [],
  error: string | null = null,
): DeploymentEvent {
  return {
    type: "state",
    deployment: {
      ...NO_DEPLOYMENT,
      status,
      error,
      finished_at: status === "finished" || status === "failed" ? later(60) : null,
    },
    steps: steps.map(([name, stepStatus, from, to, stepError]) => ({
      name,
      status: stepStatus,
      started_at: from === undefined ? null : later(from),
      finished_at: to === undefined ? null : later(to),
      error: stepError ?? null,
      error_code: null,
    })),
  };
}

const NO_DEPLOYMENT: Omit<StateEvent["deployment"], "status" | "error" | "finished_at"> = {
  id: 1,
  deployment_uuid: "d1",
  application_id: "1",
  application_uuid: "a1",
  application_name: "shop",
  pull_request_id: 0,
  error_code: null,
  commit: "0123456789abcdef",
  commit_message: null,
  force_rebuild: false,
  restart_only: false,
  rollback: false,
  only_this_server: false,
  is_webhook: false,
  is_api: true,
  git_type: null,
  actor: null,
  server_id: 1,
  server_name: "localhost",
  destination_id: "1",
  build_server_id: null,
  docker_registry_image_tag: null,
  deployment_url: null,
  current_process_id: null,
  horizon_job_id: null,
  horizon_job_worker: null,
  logs: null,
  created_at: later(0),
  updated_at: later(0),
  started_at: later(0),
  cancel_requested_at: null,
};
