import { lenient, Message } from "@berth/core";
import {
  BackupCreate,
  BackupCreated,
  BackupExecution,
  BackupExecutionSummary,
  BackupRunCancelled,
  BackupScheduleDetails,
  BackupUpdate,
} from "@berth/core/backup";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { onResource } from "./per-kind.ts";
import { resumable } from "./stream.ts";

const scheduled_backup_uuid = z.string().describe("The schedule's identifier.");
const execution_uuid = z.string().describe("The backup's identifier.");
const delete_s3 = lenient(z.boolean()).optional().describe("Also delete it from the S3 storage. Default false.");

export const backups = {
  list: onResource("database", {
    method: "GET",
    path: "/backups",
    operationId: "get-database-backups-by-uuid",
    summary: "List a database's backup schedules",
    description: "Each with its newest executions.",
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(BackupScheduleDetails))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.backups.list(uuid, page), page),
    ]),

  create: onResource("database", {
    method: "POST",
    path: "/backups",
    operationId: "create-database-backup",
    summary: "Create a backup schedule",
    description: "For PostgreSQL, MySQL, MariaDB and MongoDB; other databases cannot be dumped while they run.",
    ability: "write",
    status: 201,
    errors: ["engine.unsupported"],
    input: BackupCreate,
  })
    .output(BackupCreated)
    .mutation(({ ctx, input: { uuid, ...backup } }) => ctx.control.backups.create(uuid, backup)),

  update: onResource("database", {
    method: "PATCH",
    path: "/backups/{scheduled_backup_uuid}",
    operationId: "update-database-backup",
    summary: "Change a backup schedule",
    description: "Omitted fields keep their values.",
    ability: "write",
    errors: ["engine.unsupported"],
    input: BackupUpdate.extend({ scheduled_backup_uuid }),
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, scheduled_backup_uuid, ...change } }) =>
      ctx.control.backups.update(uuid, scheduled_backup_uuid, change),
    ),

  delete: onResource("database", {
    method: "DELETE",
    path: "/backups/{scheduled_backup_uuid}",
    operationId: "delete-backup-configuration-by-uuid",
    summary: "Delete a backup schedule",
    description: "Also deletes its executions and their files. Refused while one of them is being restored.",
    ability: "write",
    errors: ["resource.in_use"],
    input: z.strictObject({ scheduled_backup_uuid, delete_s3 }),
  })
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.backups.delete(input.uuid, input.scheduled_backup_uuid, input.delete_s3)),

  executions: onResource("database", {
    method: "GET",
    path: "/backups/{scheduled_backup_uuid}/executions",
    operationId: "list-backup-executions",
    summary: "List the executions of a backup schedule",
    description: "Newest first.",
    ability: "read",
    input: z.strictObject({ scheduled_backup_uuid, ...paging }),
  })
    .output(z.object({ executions: z.array(BackupExecutionSummary) }))
    .query(async ({ ctx, input: { uuid, scheduled_backup_uuid, ...page } }) => ({
      executions: [...listed(ctx, await ctx.control.backups.executions(uuid, scheduled_backup_uuid, page), page)],
    })),

  followExecution: onResource("database", {
    method: "GET",
    path: "/backups/{scheduled_backup_uuid}/executions/{execution_uuid}/follow",
    operationId: "follow-backup-execution-by-uuid",
    summary: "Follow a backup",
    description: "Its state now, and again each time that it has changed, until it has ended.",
    ability: "read",
    input: z.strictObject({ scheduled_backup_uuid, execution_uuid, ...resumable }),
    events: BackupExecution,
  }).subscription(({ ctx, input, signal }) => ctx.control.backups.followExecution(input, signal ?? ctx.signal)),

  deleteExecution: onResource("database", {
    method: "DELETE",
    path: "/backups/{scheduled_backup_uuid}/executions/{execution_uuid}",
    operationId: "delete-backup-execution-by-uuid",
    summary: "Delete a backup",
    description: "Also deletes its file on the server. Refused while it is being restored.",
    ability: "write",
    errors: ["resource.in_use"],
    input: z.strictObject({ scheduled_backup_uuid, execution_uuid, delete_s3 }),
  })
    .output(Message)
    .mutation(({ ctx, input }) =>
      ctx.control.backups.deleteExecution(input.uuid, input.scheduled_backup_uuid, {
        executionUuid: input.execution_uuid,
        deleteS3: input.delete_s3,
      }),
    ),

  download: onResource("database", {
    method: "GET",
    path: "/backups/{scheduled_backup_uuid}/executions/{execution_uuid}/download",
    operationId: "download-database-backup",
    summary: "Download a backup",
    description:
      "The file as it was saved, from the control plane or else from the S3 storage. The connection is broken off " +
      "before its end if the copy differs from the recorded checksum. A browser's session must have been confirmed.",
    ability: "read:sensitive",
    errors: ["auth.confirmation_required", "resource.state", "cloud.failed", "cloud.refused"],
    download: {
      contentTypes: ["application/octet-stream", "application/gzip"],
      description: "The dump: `application/gzip` if its name ends with `.gz`.",
    },
    input: z.strictObject({ scheduled_backup_uuid, execution_uuid }),
    // Its type is not that of an answer: only REST sends the file, and the client's types carry nothing of the server's.
  }).query(({ ctx, input }): Promise<unknown> => ctx.control.backups.download(input, ctx.signal)),

  cancelExecution: onResource("database", {
    method: "POST",
    path: "/backups/{scheduled_backup_uuid}/executions/{execution_uuid}/cancel",
    operationId: "cancel-backup-execution-by-uuid",
    summary: "Cancel a backup",
    description:
      "Answers when its work has ended, within seconds; nothing of it is kept. `status` is `running` in the answer " +
      "if that takes longer; it is then cancelled as soon as the work has ended.",
    ability: "write",
    errors: ["backup.not_cancellable"],
    input: z.strictObject({ scheduled_backup_uuid, execution_uuid }),
  })
    .output(BackupRunCancelled)
    .mutation(({ ctx, input: { uuid, scheduled_backup_uuid, execution_uuid } }) =>
      ctx.control.backups.cancelExecution(uuid, scheduled_backup_uuid, execution_uuid),
    ),
};
