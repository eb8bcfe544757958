import { DomainError, invalid, notFound } from "@berth/core";
import {
  type BackupRunCancelled,
  isBackupRunOver,
  isDumpName,
  mainDatabase,
  type Restore,
  type RestoreCreate,
  restoreProblem,
  restoreView,
} from "@berth/core/backup";
import type { BackupExecutionRecord, DatabaseRecord, Page, Paging, RestoreKind, Stores } from "@berth/core/ports";
import { requireAbility, requireConfirmation } from "@berth/core/team";
import { cancelBackupRun } from "./backup-cancel.ts";
import type { UseCaseContext } from "./context.ts";
import { findDatabase, findDatabaseForUpdate } from "./database-answer.ts";
import { emitResourceEvent } from "./event.ts";
import { requireEngineFor } from "./lifecycle.ts";
import { mapPage } from "./page.ts";
import { followRun } from "./run-follow.ts";

/** Identifies a backup of a database. */
export interface BackupRef {
  readonly uuid: string;
  readonly scheduled_backup_uuid: string;
  readonly execution_uuid: string;
}

/** Restores and drills of backups. */
export function restores(context: UseCaseContext) {
  const { scope, stores, ids, clock } = context;

  async function request(
    tx: Stores,
    kind: RestoreKind,
    { source, target, execution, database_name }: WantedRestore,
  ): Promise<{ uuid: string }> {
    await requireEngineFor(context, tx, target);
    const restore = await tx.restores.insert({
      ...{ uuid: ids.uuid(), kind, database_name, backup_execution_id: execution.id },
      ...{ resource_id: source.id, target_resource_id: target.id },
    });
    if (restore === undefined)
      throw new DomainError("resource.state", `A ${kind} of this database is running already.`);
    await emitResourceEvent(tx, target, "resource.restore_requested", { kind, restore: restore.uuid });
    return { uuid: restore.uuid };
  }

  return {
    /** Restores of all backups of a database, newest first. */
    async list(databaseUuid: string, paging: Paging): Promise<Page<Restore>> {
      requireAbility(scope, "read");
      const { id } = await findDatabase(stores, databaseUuid);
      return mapPage(await stores.restores.list(id, paging), restoreView);
    },

    async get(databaseUuid: string, uuid: string): Promise<Restore> {
      requireAbility(scope, "read");
      const { id } = await findDatabase(stores, databaseUuid);
      const restore = await stores.restores.find(id, uuid);
      if (restore === undefined) throw notFound("Restore");
      return restoreView(restore);
    },

    /** @throws DomainError `resource.not_found` */
    async follow(databaseUuid: string, uuid: string, signal: AbortSignal): Promise<AsyncIterable<Restore>> {
      requireAbility(scope, "read");
      const { id } = await findDatabase(stores, databaseUuid);
      const find = () => stores.restores.find(id, uuid);
      return await followRun(
        context,
        { title: "Restore", uuid, find, view: restoreView, isOver: isBackupRunOver },
        signal,
      );
    },

    /**
     * What the backup holds replaces what the database holds.
     * @throws DomainError `auth.confirmation_required`, `request.invalid`, `resource.state`, `engine.unsupported`
     */
    async restore(ref: BackupRef, sent: RestoreCreate): Promise<{ uuid: string; message: string }> {
      requireAbility(scope, "write");
      requireConfirmation(scope);
      const { uuid } = await stores.transaction(async (tx) => {
        const { source, execution } = await findBackup(tx, ref);
        const target = await targetOf(tx, source, sent);
        requireRestorable(execution);
        return request(tx, "restore", {
          source,
          target,
          execution,
          database_name: nameIn(source, target, execution, sent),
        });
      });
      return { uuid, message: "Restore request queued." };
    },

    /** Cancels a restore or drill. @throws DomainError `backup.not_cancellable` */
    async cancel(databaseUuid: string, uuid: string): Promise<BackupRunCancelled> {
      requireAbility(scope, "write");
      const { id } = await findDatabase(stores, databaseUuid);
      const restore = await stores.restores.find(id, uuid);
      return cancelBackupRun({
        title: restore?.kind === "drill" ? "Drill" : "Restore",
        find: async () => restore,
        requestCancel: () => stores.restores.requestCancel(id, uuid, clock.now()),
        untilEnded: (secondsMax) => stores.restores.untilEnded(id, uuid, secondsMax),
      });
    },

    /** @throws DomainError `resource.state`, `engine.unsupported` */
    async drill(ref: BackupRef): Promise<{ uuid: string; message: string }> {
      requireAbility(scope, "write");
      const { uuid } = await stores.transaction(async (tx) => {
        const { source, execution } = await findBackup(tx, ref);
        requireRestorable(execution);
        const { database_name } = execution;
        return request(tx, "drill", { source, target: source, execution, database_name });
      });
      return { uuid, message: "Restore drill request queued." };
    },
  };
}

interface WantedRestore {
  readonly source: DatabaseRecord;
  readonly target: DatabaseRecord;
  readonly execution: BackupExecutionRecord;
  readonly database_name: string | null;
}

async function findBackup(tx: Stores, { uuid, scheduled_backup_uuid, execution_uuid }: BackupRef) {
  const source = await findDatabaseForUpdate(tx, uuid);
  const schedule = await tx.backups.find(source.id, scheduled_backup_uuid);
  if (schedule === undefined) throw notFound("Backup configuration");
  const execution = await tx.backups.findExecution(schedule.id, execution_uuid);
  if (execution === undefined) throw notFound("Backup execution");
  return { source, execution };
}

/** @throws DomainError `resource.state` */
function requireRestorable(execution: BackupExecutionRecord): void {
  const problem = restoreProblem(execution);
  if (problem !== undefined) throw new DomainError("resource.state", problem);
}

async function targetOf(
  tx: Stores,
  source: DatabaseRecord,
  { target_database_uuid }: RestoreCreate,
): Promise<DatabaseRecord> {
  if (target_database_uuid === undefined || target_database_uuid === source.uuid) return source;
  const target = await tx.databases.find(target_database_uuid);
  if (target === undefined) throw invalid({ target_database_uuid: ["The team has no such database."] });
  if (target.engine !== source.engine) {
    throw invalid({ target_database_uuid: [`It must be of the same engine: ${source.engine}.`] });
  }
  return target;
}

/** @throws DomainError `request.invalid` */
function nameIn(
  source: DatabaseRecord,
  target: DatabaseRecord,
  { database_name }: BackupExecutionRecord,
  sent: RestoreCreate,
): string | null {
  if (database_name === null) {
    if (sent.database_name === undefined) return null;
    throw invalid({ database_name: ["The backup contains all databases, which keep their names."] });
  }
  if (sent.database_name !== undefined && !isDumpName(sent.database_name)) {
    throw invalid({ database_name: ["Must be of letters, digits and _ . $ - only."] });
  }
  const byDefault = target.id === source.id ? database_name : mainDatabase(target.engine, target.fields);
  return sent.database_name ?? byDefault ?? database_name;
}
