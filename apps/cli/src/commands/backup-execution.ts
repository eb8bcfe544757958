import type { BackupExecution } from "@berth/core/backup";
import { bytes } from "../format.ts";
import { printable } from "../printable.ts";

type Kept = Pick<BackupExecution, "filename" | "size" | "local_storage_deleted" | "s3_uploaded" | "s3_storage_deleted">;

/** Where a copy of the backup is stored. */
export function copyLocations(execution: Kept): readonly ("server" | "S3")[] {
  const { filename, local_storage_deleted, s3_uploaded, s3_storage_deleted, size } = execution;
  return [
    ...(filename !== null && size !== null && !local_storage_deleted ? (["server"] as const) : []),
    ...(s3_uploaded === true && !s3_storage_deleted ? (["S3"] as const) : []),
  ];
}

/** Copies of a successful backup may have been removed. */
export const isRestorable = (execution: Kept & Pick<BackupExecution, "status">): boolean =>
  execution.status === "success" && copyLocations(execution).length > 0;

export const savedName = (name: string | null): string => printable(name ?? "all databases");

/** The last printed progress of a running backup. */
export interface ShownProgress {
  readonly step: string;
  readonly writtenBytes: number;
}

/** Progress worth a line: a new step, or twice as many bytes as in the last line. This limits the number of lines. */
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
