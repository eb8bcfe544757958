import type { BackupExecution } from "@berth/core/backup";
import { bytes } from "../format.ts";
import { printable } from "../printable.ts";

type Kept = Pick<BackupExecution, "filename" | "size" | "local_storage_deleted" | "s3_uploaded" | "s3_storage_deleted">;

/** Where there is a copy of it. */
export function keptAt(execution: Kept): readonly ("server" | "S3")[] {
  const { filename, local_storage_deleted, s3_uploaded, s3_storage_deleted, size } = execution;
  return [
    ...(filename !== null && size !== null && !local_storage_deleted ? (["server"] as const) : []),
    ...(s3_uploaded === true && !s3_storage_deleted ? (["S3"] as const) : []),
  ];
}

/** A successful backup may have no copy left. */
export const isRestorable = (execution: Kept & Pick<BackupExecution, "status">): boolean =>
  execution.status === "success" && keptAt(execution).length > 0;

export const savedName = (name: string | null): string => printable(name ?? "all databases");

/** Progress of a running backup that was printed last. */
export interface ShownProgress {
  readonly step: string;
  readonly writtenBytes: number;
}

/** A step that has begun, or twice as much written as was told last: few lines, however long it takes. */
export function newProgress(
  told: ShownProgress | undefined,
  { step, written_bytes }: Pick<BackupExecution, "step" | "written_bytes">,
): ShownProgress | undefined {
  if (step === null) return undefined;
  const writtenBytes = written_bytes ?? 0;
  if (told?.step !== step) return { step, writtenBytes };
  return writtenBytes >= TOLD_BYTES_MIN && writtenBytes >= told.writtenBytes * 2 ? { step, writtenBytes } : undefined;
}

const TOLD_BYTES_MIN = 1_000_000;

export const progressText = ({ step, writtenBytes }: ShownProgress): string =>
  writtenBytes < TOLD_BYTES_MIN ? step : `${step}, ${bytes(writtenBytes)}`;
