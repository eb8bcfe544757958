import { rest } from "../api/rest.ts";

interface BackupRef {
  readonly uuid: string;
  readonly scheduled_backup_uuid: string;
  readonly execution_uuid: string;
}

/**
 * Downloads a backup. A plain link could not send the page's half of the session, so the page fetches the file; the
 * browser keeps a large one on its disk until it is saved.
 */
export async function downloadBackup({ uuid, scheduled_backup_uuid, execution_uuid }: BackupRef): Promise<void> {
  const [database, schedule, execution] = [uuid, scheduled_backup_uuid, execution_uuid].map(encodeURIComponent);
  const response = await rest(`/databases/${database}/backups/${schedule}/executions/${execution}/download`);
  const [, name] = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name ?? `${execution_uuid}.backup`;
  link.click();
  // The browser has begun to read it only after this event.
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKED_AFTER_MS);
}

const REVOKED_AFTER_MS = 60_000;
