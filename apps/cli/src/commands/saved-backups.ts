import type { BackupScheduleDetails } from "@berth/core/backup";
import { DATABASE_ENGINE_NAMES, databaseType } from "@berth/core/database";
import { printable } from "../printable.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";

/** A database's schedules, with their newest executions. */
export async function schedulesOf(session: Session, wanted: string) {
  const api = await session.connect();
  const { uuid, name, database_type } = await namedResource(api, "database", wanted);
  const schedules = await api.client.databases.backups.list.query({ uuid });
  const engine = DATABASE_ENGINE_NAMES.find((each) => databaseType(each) === database_type);
  return { api, uuid, name: printable(name), engine, schedules };
}
export type Saved = Awaited<ReturnType<typeof schedulesOf>>;

/** All executions, the newest first. */
export const executionsOf = (schedules: readonly BackupScheduleDetails[]) =>
  schedules
    .flatMap(({ uuid: scheduled_backup_uuid, dump_all, executions }) =>
      executions.map((execution) => ({ ...execution, scheduled_backup_uuid, dump_all })),
    )
    .sort((one, other) => other.id - one.id);
export type ListedExecution = ReturnType<typeof executionsOf>[number];

/** Parameters by which operations identify an execution. */
export const executionParameters = (
  uuid: string,
  { uuid: execution_uuid, scheduled_backup_uuid }: ListedExecution,
) => ({
  uuid,
  scheduled_backup_uuid,
  execution_uuid,
});
