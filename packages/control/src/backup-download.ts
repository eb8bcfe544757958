import { DomainError, isDomainError, notFound } from "@berth/core";
import { restoreProblem } from "@berth/core/backup";
import type { BackupCopies, BackupExecutionRecord } from "@berth/core/ports";
import { requireAbility, requireConfirmation } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { findDatabase } from "./database-answer.ts";
import { emitResourceEvent } from "./event.ts";
import type { BackupRef } from "./restore.ts";

/** A file that is sent while it is read. */
export interface Download {
  readonly filename: string;
  /** `null` for old backups, whose size was not recorded. */
  readonly sizeBytes: number | null;
  /** In hexadecimal. */
  readonly sha256: string | null;
  readonly content: AsyncIterable<Uint8Array>;
  /** Closes the file or connection, also when nothing of the content is read. Idempotent. */
  close(): Promise<void>;
}

/**
 * The content of a backup as it was saved: from the file on this control plane, else from the object in the bucket. A
 * dump contains every secret of its database, so reading it needs what reading passwords needs. The end of a copy that
 * differs from the recorded checksum is never sent.
 * @param signal Ends the reading of an object.
 * @throws DomainError `auth.confirmation_required`, `resource.state`, or the problem of the storage
 */
export async function downloadBackup(
  context: UseCaseContext,
  { uuid, scheduled_backup_uuid, execution_uuid }: BackupRef,
  signal: AbortSignal,
): Promise<Download> {
  const { scope, stores, verifyContent } = context;
  requireAbility(scope, "read:sensitive");
  requireConfirmation(scope);
  const database = await findDatabase(stores, uuid);
  const schedule = await stores.backups.find(database.id, scheduled_backup_uuid);
  if (schedule === undefined) throw notFound("Backup configuration");
  const execution = await stores.backups.findExecution(schedule.id, execution_uuid);
  const copies = await stores.backups.copies(schedule.id, execution_uuid);
  if (execution === undefined || copies === undefined) throw notFound("Backup execution");
  const problem = restoreProblem(execution);
  if (problem !== undefined) throw new DomainError("resource.state", problem);
  const { size_bytes: sizeBytes, sha256 } = execution;
  const copy = await openedCopy(await readers(context, copies, signal));
  const content = verifyContent(copy.chunks, { sizeBytes, sha256 });
  await stores.transaction((tx) =>
    emitResourceEvent(tx, database, "resource.backup_downloaded", { backup: execution.uuid }),
  );
  return { filename: filenameOf(execution, copies, database.name), sizeBytes, sha256, content, close: copy.close };
}

type Read = () => AsyncIterable<Uint8Array>;

async function readers(
  { stores, backupFiles, objectStorage }: UseCaseContext,
  { file, object }: BackupCopies,
  signal: AbortSignal,
): Promise<readonly Read[]> {
  const isNear = file !== null && file.folder === (await backupFiles.folder());
  const storage = object === null ? undefined : await stores.s3Storages.find(object.s3_storage_uuid);
  const credentials = storage && (await stores.s3Storages.credentialsOf([storage.id])).get(storage.id);
  return [
    ...(isNear ? [() => backupFiles.read(file.filename)] : []),
    ...(object !== null && storage !== undefined && credentials !== undefined
      ? [() => objectStorage(storage, credentials).get(object.s3_key, signal)]
      : []),
  ];
}

/** The first copy whose first bytes can be read: after the answer has begun, a problem could only break it off. */
async function openedCopy(copies: readonly Read[]): Promise<{
  readonly chunks: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}> {
  let problem: unknown = new DomainError(
    "resource.state",
    "No copy of the backup can be reached from here: its file is on another control plane, and no S3 storage has it.",
  );
  for (const read of copies) {
    const chunks = read()[Symbol.asyncIterator]();
    try {
      const first = await chunks.next();
      // A generator that was never started runs no `finally`, so closing is a call of its own.
      return { chunks: continued(chunks, first), close: async () => void (await chunks.return?.()) };
    } catch (error) {
      if (!isDomainError(error)) throw error;
      problem = error;
    }
  }
  throw problem;
}

async function* continued(
  chunks: AsyncIterator<Uint8Array>,
  first: IteratorResult<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for (let next = first; !next.done; next = await chunks.next()) yield next.value;
}

/** Named as on the server, with the database's name in front: several downloads are told apart. */
function filenameOf(
  { filename, uuid }: Pick<BackupExecutionRecord, "filename" | "uuid">,
  { object }: BackupCopies,
  name: string,
): string {
  const recorded = (filename ?? object?.s3_key ?? uuid).split("/").at(-1) ?? uuid;
  return `${name}-${recorded}`.replaceAll(/[^\w.-]+/g, "-");
}
