import type { DeploymentLogLine } from "@berth/core/deploy";
import type { DeploymentStore, SystemDeploymentStore } from "@berth/core/ports";
import { sql } from "kysely";
import { DEPLOYMENT_CHANNEL } from "./changes.ts";
import type { StoreContext, TeamContext } from "./context.ts";
import { storableJson } from "./storable.ts";

const TAKE_MAX = 10_000;
/** Limit per statement: more lines are appended in parts. */
const LINES_MAX = 1_000;

export const LINE_COLUMNS = [
  "deployment_log.seq",
  "deployment_log.step",
  "deployment_log.type",
  "deployment_log.output",
  "deployment_log.hidden",
  "deployment_log.timestamp",
] as const;

export async function readLog(
  { db, teamId }: TeamContext,
  deploymentId: number,
  { after = 0, take = TAKE_MAX, last }: Parameters<DeploymentStore["log"]>[1],
): Promise<readonly DeploymentLogLine[]> {
  const lines = db
    .selectFrom("deployment_log")
    .select(LINE_COLUMNS)
    .where(
      "deployment_id",
      "=",
      db.selectFrom("deployment").select("id").where("id", "=", deploymentId).where("team_id", "=", teamId),
    )
    .where("seq", ">", after);
  if (last === undefined) return await lines.orderBy("seq").limit(Math.min(take, TAKE_MAX)).execute();
  const newest = await lines.orderBy("seq", "desc").limit(Math.min(last, TAKE_MAX)).execute();
  return newest.reverse();
}

/**
 * One statement takes the next numbers from the deployment's row, inserts the lines and notifies followers. It locks
 * the row, which serialises appends to a deployment, so a reader never sees a number before the ones below it.
 */
export const appendLog =
  ({ db }: StoreContext): SystemDeploymentStore["appendLog"] =>
  async (deploymentId, lines) => {
    for (let from = 0; from < lines.length; from += LINES_MAX) {
      const batch = lines.slice(from, from + LINES_MAX).map((line, index) => ({
        ...line,
        position: index + 1,
      }));
      await sql`
        with counted as (
          update deployment set log_seq = log_seq + ${batch.length}::int where id = ${deploymentId}
          returning id, log_seq - ${batch.length}::int as before
        ), added as (
          insert into deployment_log (deployment_id, seq, step, type, output, hidden, timestamp)
          select counted.id, counted.before + line.position, line.step, line.type, line.output, line.hidden, line.timestamp
          from counted, jsonb_to_recordset(${storableJson(batch)}::jsonb) as line
            (position int, step text, type text, output text, hidden boolean, timestamp timestamptz)
        )
        select pg_notify(${sql.lit(DEPLOYMENT_CHANNEL)}, id::text) from counted`.execute(db);
    }
  };
