import { whyNotFollowed } from "@berth/core/deploy";
import type { DeploymentRecord } from "@berth/core/ports";
import { sql } from "kysely";
import type { StoreContext } from "./context.ts";
import { DEPLOYMENT_COLUMNS, emitDeploymentEvent } from "./deployment-row.ts";

/** Ends the deployments to other servers that wait for this one, if its end means that they do not start. */
export async function endFollowing(context: StoreContext, first: DeploymentRecord): Promise<void> {
  const error = first.follows === null ? whyNotFollowed(first) : undefined;
  if (error === undefined) return;
  const now = sql<Date>`now()`;
  const ended = await context.db
    .updateTable("deployment")
    .set({ status: "cancelled-by-user", error, finished_at: now, updated_at: now })
    .where("follows", "=", first.uuid)
    .where("status", "=", sql.lit("queued" as const))
    .returning(DEPLOYMENT_COLUMNS)
    .execute();
  for (const deployment of ended) emitDeploymentEvent(context, deployment, "deployment.cancelled");
}

/** Those to other servers use the commit of the first, whatever is pushed meanwhile. */
export async function passCommitOn(
  { db }: StoreContext,
  { uuid, commit, commit_message }: Pick<DeploymentRecord, "uuid" | "commit" | "commit_message">,
): Promise<void> {
  await db
    .updateTable("deployment")
    .set({ commit, commit_message, updated_at: sql<Date>`now()` })
    .where("follows", "=", uuid)
    .where("status", "=", sql.lit("queued" as const))
    .execute();
}
