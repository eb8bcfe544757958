import type { DeploymentStep } from "@berth/core/deploy";
import { STEP_NAMES } from "@berth/core/deploy";
import type { DeploymentRecord } from "@berth/core/ports";
import { sql } from "kysely";
import { emit, type NewEvent, notifyDeployment, type StoreContext } from "./context.ts";
import { openStacks } from "./sealed-stack.ts";

export const DEPLOYMENT_COLUMNS = [
  "deployment.id",
  "deployment.uuid",
  "deployment.team_id",
  "deployment.resource_id",
  "deployment.resource_uuid",
  "deployment.resource_name",
  "deployment.server_id",
  // Subqueries run only for returned rows, not for those that a page skips.
  sql<string>`(select server.name from server where server.id = deployment.server_id)`.as("server_name"),
  "deployment.destination_id",
  "deployment.status",
  "deployment.pull_request_id",
  "deployment.commit",
  "deployment.commit_message",
  "deployment.force_rebuild",
  "deployment.restart_only",
  "deployment.keeps_unchanged",
  "deployment.rollback",
  "deployment.rollback_to",
  "deployment.follows",
  "deployment.is_webhook",
  "deployment.is_api",
  "deployment.git_type",
  "deployment.actor",
  "deployment.docker_registry_image_tag",
  "deployment.build_server_id",
  "deployment.cancel_requested_at",
  "deployment.error",
  // It fails with one of its steps; `retire` fails after its end.
  sql<string | null>`(select step.error_code from deployment_step step where step.deployment_id = deployment.id
    and step.status = 'failed' and step.name <> 'retire' limit 1)`.as("error_code"),
  "deployment.started_at",
  "deployment.finished_at",
  "deployment.attempt",
  "deployment.created_at",
  "deployment.updated_at",
] as const;

export const SHOWN_STEP_COLUMNS = [
  "deployment_step.name",
  "deployment_step.status",
  "deployment_step.started_at",
  "deployment_step.finished_at",
  "deployment_step.error",
  "deployment_step.error_code",
] as const;

/** Literal, so that PostgreSQL recognises that the partial index covers the condition. */
export const isActive = sql<boolean>`deployment.status in ('queued', 'in_progress')`;

/** A stack step's output contains secrets. */
export const stepPlace = (deploymentId: number, name: string): string =>
  `deployment_step ${deploymentId} ${name} output`;

export async function readSteps(context: StoreContext, deploymentId: number): Promise<readonly DeploymentStep[]> {
  const rows = await context.db
    .selectFrom("deployment_step")
    .select([...SHOWN_STEP_COLUMNS, "output"])
    .where("deployment_id", "=", deploymentId)
    .execute();
  return inOrder(rows).map((row) => ({
    ...row,
    output: openStacks(context, row.output, stepPlace(deploymentId, row.name)),
  }));
}

/** In the order in which they run. */
export const inOrder = <Step extends Pick<DeploymentStep, "name">>(steps: readonly Step[]): readonly Step[] =>
  steps.toSorted((a, b) => STEP_NAMES.indexOf(a.name) - STEP_NAMES.indexOf(b.name));

/** Writes the event and notifies the deployment's followers. */
export function emitDeploymentEvent(context: StoreContext, deployment: DeploymentRecord, type: NewEvent["type"]): void {
  notifyDeployment(context, deployment.id);
  emit(context, {
    team_id: deployment.team_id,
    type,
    resource_uuid: deployment.resource_uuid,
    payload: {
      deployment_uuid: deployment.uuid,
      resource_name: deployment.resource_name,
      server_name: deployment.server_name,
      status: deployment.status,
      pull_request_id: deployment.pull_request_id,
      commit: deployment.commit,
      ...(deployment.error === null ? {} : { error: deployment.error }),
    },
  });
}
