import { z } from "zod";
import type { DeploymentRecord } from "../ports/records.ts";
import { EventActorView } from "../team/event-view.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import {
  DEPLOYMENT_STATUSES,
  type DeploymentLogLine,
  type DeploymentStep,
  STEP_NAMES,
  STEP_STATUSES,
} from "./deployment.ts";

/** Lines in the field `logs` of a deployment; the whole log has an operation of its own. */
export const LOG_FIELD_LINES_MAX = 1000;

const text = z.string();
const textOrNull = z.string().nullable();
const flag = z.boolean();

export const Deployment = z
  .object({
    id: z.int(),
    deployment_uuid: text,
    application_id: text.describe("Number of the deployed resource, of any kind, as text."),
    application_uuid: text,
    application_name: textOrNull,
    pull_request_id: z.int().describe("0: not a preview."),
    status: z.enum(DEPLOYMENT_STATUSES),
    error: textOrNull.describe("One sentence that says why it failed."),
    error_code: textOrNull.describe(
      "Code of the error, as in docs/errors.md; null if it did not fail by an error that has one.",
    ),
    commit: text.describe("HEAD until the source was fetched."),
    commit_message: textOrNull,
    force_rebuild: flag,
    restart_only: flag.describe("Starts an existing build."),
    rollback: flag,
    only_this_server: flag,
    is_webhook: flag,
    is_api: flag,
    git_type: textOrNull,
    actor: EventActorView.nullable().describe("Who asked for it; null for a push, for Berth itself, or if unknown."),
    server_id: z.int().nullable(),
    server_name: textOrNull,
    destination_id: textOrNull.describe("A number, as text."),
    build_server_id: z.int().nullable().describe("Server of the build, if it is not the target server."),
    docker_registry_image_tag: textOrNull,
    deployment_url: textOrNull,
    current_process_id: textOrNull,
    horizon_job_id: textOrNull,
    horizon_job_worker: textOrNull,
    logs: textOrNull
      .optional()
      .describe(
        `JSON text: a list of {command, output, type, timestamp, hidden, batch, order}, the last ${LOG_FIELD_LINES_MAX} ` +
          "lines; null in lists. Absent without read:sensitive.",
      ),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
    cancel_requested_at: Timestamp.nullable(),
  })
  .meta({
    id: "Deployment",
    description: "One run that brings an application from source to traffic, or starts a database or service.",
  });
export type Deployment = z.infer<typeof Deployment>;

/** @param logs `undefined` for callers that may not read secrets, `null` if the answer does not include logs. */
export function deploymentView(deployment: DeploymentRecord, logs: string | null | undefined): Deployment {
  return {
    id: deployment.id,
    deployment_uuid: deployment.uuid,
    application_id: String(deployment.resource_id),
    application_uuid: deployment.resource_uuid,
    application_name: deployment.resource_name,
    pull_request_id: deployment.pull_request_id,
    status: deployment.status,
    error: deployment.error,
    error_code: deployment.error_code,
    commit: deployment.commit,
    commit_message: deployment.commit_message,
    force_rebuild: deployment.force_rebuild,
    restart_only: deployment.restart_only,
    rollback: deployment.rollback,
    only_this_server: false,
    is_webhook: deployment.is_webhook,
    is_api: deployment.is_api,
    git_type: deployment.git_type,
    actor: deployment.actor,
    server_id: deployment.server_id,
    server_name: deployment.server_name,
    destination_id: String(deployment.destination_id),
    build_server_id: deployment.build_server_id,
    docker_registry_image_tag: deployment.docker_registry_image_tag,
    deployment_url: null,
    current_process_id: null,
    horizon_job_id: null,
    horizon_job_worker: null,
    ...(logs === undefined ? {} : { logs }),
    created_at: timestamp(deployment.created_at),
    updated_at: timestamp(deployment.updated_at),
    started_at: timestampOrNull(deployment.started_at),
    finished_at: timestampOrNull(deployment.finished_at),
    cancel_requested_at: timestampOrNull(deployment.cancel_requested_at),
  };
}

/** The field `logs` in the format that clients of this API family parse. */
export const logsText = (lines: readonly DeploymentLogLine[]): string =>
  JSON.stringify(
    lines.map(({ seq, output, type, timestamp: at, hidden }) => ({
      command: null,
      output,
      type,
      timestamp: timestamp(at),
      hidden,
      batch: 1,
      order: seq,
    })),
  );

export const DeploymentLogEntry = z
  .object({
    seq: z.int().describe("Grows by one per line; serves as cursor."),
    step: z.enum(STEP_NAMES).nullable(),
    type: z.enum(["stdout", "stderr"]),
    output: text,
    hidden: flag.describe("Whether only tokens that may read secrets get this line."),
    timestamp: Timestamp,
  })
  .meta({ id: "DeploymentLogEntry", description: "One line of a deployment's log." });
export type DeploymentLogEntry = z.infer<typeof DeploymentLogEntry>;

export const DeploymentLogPage = z
  .object({
    status: z.enum(DEPLOYMENT_STATUSES),
    lines: z.array(DeploymentLogEntry),
    next: z.int().describe("Send it as `after` to get the next lines."),
  })
  .meta({ id: "DeploymentLogPage", description: "A part of a deployment's log." });
export type DeploymentLogPage = z.infer<typeof DeploymentLogPage>;

export const logEntryView = (line: DeploymentLogLine): DeploymentLogEntry => ({
  seq: line.seq,
  step: line.step,
  type: line.type,
  output: line.output,
  hidden: line.hidden,
  timestamp: timestamp(line.timestamp),
});

export const DeploymentStepView = z
  .object({
    name: z.enum(STEP_NAMES),
    status: z.enum(STEP_STATUSES),
    started_at: Timestamp.nullable(),
    finished_at: Timestamp.nullable(),
    error: textOrNull.describe("One sentence that says what went wrong."),
    error_code: textOrNull.describe("Code of the error, as in docs/errors.md."),
  })
  .meta({ id: "DeploymentStep", description: "One step of a deployment." });
export type DeploymentStepView = z.infer<typeof DeploymentStepView>;

export const stepView = (step: Omit<DeploymentStep, "output">): DeploymentStepView => ({
  name: step.name,
  status: step.status,
  started_at: timestampOrNull(step.started_at),
  finished_at: timestampOrNull(step.finished_at),
  error: step.error,
  error_code: step.error_code,
});

export const DeploymentPage = z
  .object({ count: z.int().describe("Total number, regardless of the page."), deployments: z.array(Deployment) })
  .meta({ id: "DeploymentPage", description: "Deployments of one application, newest first." });

/** Events while following a deployment: new log lines, and changes of its state. */
export const DeploymentEvent = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("line"), line: DeploymentLogEntry }),
    z.object({ type: z.literal("state"), deployment: Deployment, steps: z.array(DeploymentStepView) }),
  ])
  .meta({ id: "DeploymentEvent", description: "A new line of the log, or a change of the deployment's state." });
export type DeploymentEvent = z.infer<typeof DeploymentEvent>;

/** The result of asking for deployments by uuid. */
export const DeployRequestEntry = z
  .object({
    message: text,
    resource_uuid: text,
    deployment_uuid: text.optional(),
  })
  .meta({ id: "DeployRequestEntry", description: "The result for one resource of the request." });
export type DeployRequestEntry = z.infer<typeof DeployRequestEntry>;

export const DeployRequestResult = z
  .object({
    deployments: z.array(DeployRequestEntry).optional().describe("For `uuid`."),
    message: z.array(text).optional().describe("For `tag`."),
    details: z
      .array(DeployRequestEntry.omit({ message: true }))
      .optional()
      .describe("For `tag`."),
  })
  .meta({
    id: "DeployRequestResult",
    description: "The queued deployments: `deployments` for uuids, the others for tags.",
  });
export type DeployRequestResult = z.infer<typeof DeployRequestResult>;

/** The answer of start and restart. */
export const DeploymentQueued = z
  .object({ message: text, deployment_uuid: text })
  .meta({ id: "DeploymentQueued", description: "The queued deployment, or the one that was already waiting." });
export type DeploymentQueued = z.infer<typeof DeploymentQueued>;

export const DeploymentCancelled = z
  .object({ message: text, deployment_uuid: text, status: z.enum(DEPLOYMENT_STATUSES) })
  .meta({ id: "DeploymentCancelled", description: "The state of the deployment after the cancellation." });
export type DeploymentCancelled = z.infer<typeof DeploymentCancelled>;
