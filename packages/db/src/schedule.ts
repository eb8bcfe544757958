import type { ScheduleKind, SystemScheduleStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, type StoreContext } from "./context.ts";

const COLUMNS = [
  "schedule.kind",
  "schedule.subject_id",
  "schedule.server_id",
  "schedule.frequency",
  "schedule.revision",
  "schedule.changed_at",
  "schedule.is_planned",
  "schedule.due_at",
] as const;

const ID = 1;

export function systemScheduleStore(context: StoreContext): SystemScheduleStore {
  const { db } = context;
  const isLongAgo = (now: Date, stallSeconds: number) =>
    sql<boolean>`looked_at < ${now}::timestamptz - ${stallSeconds}::float8 * interval '1 second'`;
  return {
    async dueKinds(kinds, now) {
      const { rows } = await sql<{ readonly kind: ScheduleKind }>`
        select kind from unnest(${kinds}::text[]) as asked (kind)
        where exists (select from schedule where schedule.kind = asked.kind and schedule.due_at <= ${now})`.execute(db);
      return rows.map(({ kind }) => kind);
    },
    due(kind, now, { take, after }) {
      let query = db
        .selectFrom("schedule")
        .innerJoin("server", "server.id", "schedule.server_id")
        .select([...COLUMNS, sql<string>`coalesce(server.settings ->> 'server_timezone', 'UTC')`.as("timezone")])
        .where("schedule.kind", "=", kind)
        .where("schedule.due_at", "<=", now);
      if (after !== undefined) {
        const behind = sql<boolean>`(schedule.due_at, schedule.subject_id) > (${after.due_at}, ${after.subject_id})`;
        query = query.where(behind);
      }
      return query.orderBy("schedule.due_at").orderBy("schedule.subject_id").limit(take).execute();
    },
    async advance({ kind, subject_id, revision, due_at }, next) {
      const isSame = sql<boolean>`schedule.kind = ${kind} and schedule.subject_id = ${subject_id}
        and schedule.revision = ${revision} and schedule.due_at = ${due_at}`;
      if (next === undefined) {
        const { numDeletedRows } = await db.deleteFrom("schedule").where(isSame).executeTakeFirst();
        return numDeletedRows > 0n;
      }
      const { numUpdatedRows } = await db
        .updateTable("schedule")
        .set({ is_planned: true, due_at: next })
        .where(isSame)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
    beat: (now, stallSeconds) =>
      inTransaction(context, async (tx) => {
        const before = await tx.db
          .selectFrom("scheduler")
          .select(["looked_at", isLongAgo(now, stallSeconds).as("is_long_ago"), "is_stall_told"])
          .where("id", "=", ID)
          .forUpdate()
          .executeTakeFirst();
        await tx.db
          .insertInto("scheduler")
          .values({ id: ID, looked_at: now, is_stall_told: false })
          .onConflict((conflict) =>
            conflict.column("id").doUpdateSet({
              // Clocks of control planes differ, so the time never goes back.
              looked_at: sql<Date>`greatest(scheduler.looked_at, excluded.looked_at)`,
              is_stall_told: false,
            }),
          )
          .execute();
        return before?.is_long_ago && !before.is_stall_told ? before.looked_at : undefined;
      }),
    async stalledSince(now, stallSeconds) {
      const stalled = await db
        .updateTable("scheduler")
        .set({ is_stall_told: true })
        .where("id", "=", ID)
        .where("is_stall_told", "=", false)
        .where(isLongAgo(now, stallSeconds))
        .returning("looked_at")
        .executeTakeFirst();
      return stalled?.looked_at;
    },
  };
}
