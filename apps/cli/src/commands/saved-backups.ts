import type { BackupScheduleDetails } from "@berth/core/backup";
import { DATABASE_ENGINE_NAMES, databaseType } from "@berth/core/database";
import { Failure, usage } from "../failure.ts";
import { printable } from "../printable.ts";
import { namedResource } from "../resource.ts";
import type { Session } from "../session.ts";
import { isRestorable } from "./backup-execution.ts";

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

/** The named backup, or the newest good one. @throws Failure */
export function chosenBackup({ name, schedules }: Saved, wanted: string | undefined): ListedExecution {
  const executions = executionsOf(schedules);
  const chosen = executions.find((each) => (wanted === undefined ? isRestorable(each) : each.uuid === wanted));
  if (chosen !== undefined) return chosen;
  if (wanted !== undefined) {
    throw usage(`${name} has no backup ${printable(wanted)}.`, [`Its backups: berth backup list ${name}`]);
  }
  throw new Failure(`${name} has no good backup.`, { details: [`Make one with: berth backup run ${name}`] });
}
