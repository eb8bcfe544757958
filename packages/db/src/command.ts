import { notFound } from "@berth/core";
import type { CommandRecord, CommandStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, type TeamContext, wakeWorkers } from "./context.ts";
import { countRows, page, within } from "./page.ts";

const COLUMNS = [
  "scheduled_task.uuid",
  "scheduled_task.command",
  "scheduled_task.container",
  "scheduled_task.timeout",
  "scheduled_task.created_at",
  "scheduled_task_execution.status",
  "scheduled_task_execution.message",
  "scheduled_task_execution.exit_code",
  "scheduled_task_execution.error_details",
  "scheduled_task_execution.finished_at",
] as const;

export function commandStore(context: TeamContext): CommandStore {
  const { db, teamId } = context;
  const ownResource = (resourceId: number) =>
    db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);
  const tasks = (resourceId: number) =>
    db
      .selectFrom("scheduled_task")
      .where("scheduled_task.resource_id", "in", ownResource(resourceId))
      .where("scheduled_task.is_one_off", "=", true);
  const commands = (resourceId: number) =>
    tasks(resourceId).innerJoin(
      "scheduled_task_execution",
      "scheduled_task_execution.scheduled_task_id",
      "scheduled_task.id",
    );
  const find = (resourceId: number, uuid: string): Promise<CommandRecord | undefined> =>
    commands(resourceId).select(COLUMNS).where("scheduled_task.uuid", "=", uuid).executeTakeFirst();
  return {
    find,
    list: (resourceId, paging = {}) =>
      page(
        paging,
        (window) => within(commands(resourceId).select(COLUMNS).orderBy("scheduled_task.id", "desc"), window).execute(),
        () => countRows(tasks(resourceId)),
      ),
    countRunning: (resourceId) =>
      countRows(commands(resourceId).where("scheduled_task_execution.status", "=", "running")),
    insert: (resourceId, { execution_uuid, at, ...command }, kept) =>
      inTransaction(context, async (tx) => {
        const owner = await ownResource(resourceId).executeTakeFirst();
        if (owner === undefined) throw notFound("Resource");
        const { id } = await tx.db
          .insertInto("scheduled_task")
          .values({ ...command, resource_id: owner.id, ...ONE_OFF })
          .returning("id")
          .executeTakeFirstOrThrow();
        await tx.db
          .insertInto("scheduled_task_execution")
          .values({ scheduled_task_id: id, uuid: execution_uuid, retry_count: 0, started_at: at })
          .execute();
        await forgetOld(tx, owner.id, kept);
        wakeWorkers(tx);
        const made = await commandStore(tx).find(resourceId, command.uuid);
        if (made === undefined) throw notFound("Command");
        return made;
      }),
    async delete(resourceId, uuid) {
      const { numDeletedRows } = await db
        .deleteFrom("scheduled_task")
        .where("uuid", "=", uuid)
        .where("is_one_off", "=", true)
        .where("resource_id", "in", ownResource(resourceId))
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}

/** Never due: no scheduler reads the frequency of a task that is not enabled. */
const ONE_OFF = { name: "Command", frequency: "", enabled: false, is_one_off: true } as const;

async function forgetOld({ db }: TeamContext, resourceId: number, kept: number): Promise<void> {
  await sql`delete from scheduled_task where id in (
      select id from scheduled_task where resource_id = ${resourceId} and is_one_off
      order by resource_id desc, id desc offset ${kept}::bigint)
    and not exists (select from scheduled_task_execution run
      where run.scheduled_task_id = scheduled_task.id and run.status = 'running')`.execute(db);
}
