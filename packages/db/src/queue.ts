import type { QueueName, SystemQueueStore } from "@berth/core/ports";
import { sql } from "kysely";
import type { StoreContext } from "./context.ts";
import { isActive } from "./deployment-row.ts";
import { isActiveJob } from "./job-row.ts";

/** Each condition has its own partial index, which is empty or short. */
export const systemQueueStore = ({ db }: Pick<StoreContext, "db">): SystemQueueStore => ({
  async busy() {
    const { rows } = await sql<{ readonly name: QueueName }>`
      select distinct job.type as name from job where ${isActiveJob}
      union all select 'deployment' where exists (select from deployment where ${isActive})
      union all select 'scheduled_task' where exists (select from scheduled_task_execution where status = 'running')
      union all select 'requested_backup' where exists (select from scheduled_backup where requested_at is not null)
      union all select 'backup' where exists (select from backup_execution where status = 'running')
      union all select 'backup_removal'
        where exists (select from backup_removal where not_before <= statement_timestamp())
      union all select 'restore' where exists (select from backup_restore where status = 'running')
      union all select 'notification' where exists (
        select from notification_delivery where state = 'pending' and next_attempt_at <= statement_timestamp())`.execute(
      db,
    );
    return new Set(rows.map(({ name }) => name));
  },
});
