import { DomainError } from "@berth/core";
import type { ObjectStorage, SystemStores } from "@berth/core/ports";
import type { BackupTools } from "../ports.ts";
import type { ValidationDeps } from "../server-validation.ts";

export interface BackupDeps extends ValidationDeps {
  readonly backups: BackupTools;
}

/** Folder for downloads that are to be restored. */
export const RESTORE_FOLDER = "restoring";

/** @throws DomainError when the storage was deleted */
export async function openStorage(
  { stores, backups }: { readonly stores: Pick<SystemStores, "forTeam">; readonly backups: BackupTools },
  { team_id, uuid }: { readonly team_id: number; readonly uuid: string | null },
): Promise<ObjectStorage> {
  const { s3Storages } = stores.forTeam(team_id);
  const storage = uuid === null ? undefined : await s3Storages.find(uuid);
  const credentials = storage && (await s3Storages.credentialsOf([storage.id])).get(storage.id);
  if (storage === undefined) throw new DomainError("resource.not_found", "The S3 storage no longer exists.");
  if (credentials === undefined) {
    const message = `The S3 storage ${storage.name} has no key and secret for ${storage.endpoint}. Send both.`;
    throw new DomainError("cloud.refused", message);
  }
  return backups.objectStorage(storage, credentials);
}

/**
 * Content of an object, up to the size that was uploaded: a bucket of someone else might send without end.
 * @throws DomainError `cloud.failed`
 */
export async function* limitBytes(sizeBytes: number, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const chunk of chunks) {
    read += chunk.length;
    if (read > sizeBytes) {
      throw new DomainError("cloud.failed", `The S3 storage returns more than the ${sizeBytes} bytes of the backup.`);
    }
    yield chunk;
  }
}
