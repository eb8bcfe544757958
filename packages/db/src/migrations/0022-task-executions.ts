import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const EXECUTIONS = [
  `alter table scheduled_task_execution
    add column exit_code integer,
    add column due_at timestamptz(3),
    add column lease_owner text,
    add column lease_expires_at timestamptz(3)`,
  "update scheduled_task_execution set status = 'failed', finished_at = started_at where status = 'running'",
  // A due time has one execution, and a task has one running execution: the unique indexes decide between concurrent
  // inserts.
  `create unique index scheduled_task_execution_due on scheduled_task_execution (scheduled_task_id, due_at)
    where due_at is not null`,
  `create unique index scheduled_task_execution_running on scheduled_task_execution (scheduled_task_id)
    where status = 'running'`,
  "create index scheduled_task_execution_active on scheduled_task_execution (id) where status = 'running'",
  "create index scheduled_task_execution_count_total on scheduled_task_execution_count (total)",
];

/** Lease, due time and outcome of executions. */
export const taskExecutions: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of EXECUTIONS) await sql.raw(statement).execute(db);
  },
};
