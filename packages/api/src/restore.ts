import { BackupRunCancelled, Restore, RestoreCreate, RestoreRequested } from "@berth/core/backup";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { onResource } from "./per-kind.ts";
import { resumable } from "./stream.ts";

const backup = {
  scheduled_backup_uuid: z.string().describe("The schedule's identifier."),
  execution_uuid: z.string().describe("The backup's identifier."),
};
const restore_uuid = z.string().describe("The restore's identifier.");
const EXECUTION = "/backups/{scheduled_backup_uuid}/executions/{execution_uuid}";

export const restores = {
  restore: onResource("database", {
    method: "POST",
    path: `${EXECUTION}/restore`,
    operationId: "restore-database-backup",
    summary: "Restore a backup",
    description:
      "Into the database of the backup, or another one of the same engine. The checksum is verified first; the backup's content replaces that of the database.",
    ability: "write",
    status: 202,
    errors: ["auth.confirmation_required", "engine.unsupported", "resource.state"],
    input: RestoreCreate.extend(backup),
  })
    .output(RestoreRequested)
    .mutation(({ ctx, input: { uuid, scheduled_backup_uuid, execution_uuid, ...wanted } }) =>
      ctx.control.restores.restore({ uuid, scheduled_backup_uuid, execution_uuid }, wanted),
    ),

  drill: onResource("database", {
    method: "POST",
    path: `${EXECUTION}/drill`,
    operationId: "drill-database-backup",
    summary: "Test a backup",
    description:
      "Restores it into a temporary database, and counts the rows of every table. The original database is not changed.",
    ability: "write",
    status: 202,
    errors: ["engine.unsupported", "resource.state"],
    input: z.strictObject(backup),
  })
    .output(RestoreRequested)
    .mutation(({ ctx, input }) => ctx.control.restores.drill(input)),

  list: onResource("database", {
    method: "GET",
    path: "/restores",
    operationId: "list-database-restores",
    summary: "List restores and drills of a database's backups",
    description: "Newest first.",
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(Restore))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.restores.list(uuid, page), page),
    ]),

  get: onResource("database", {
    method: "GET",
    path: "/restores/{restore_uuid}",
    operationId: "get-database-restore",
    summary: "Get a restore or drill",
    ability: "read",
    input: z.strictObject({ restore_uuid }),
  })
    .output(Restore)
    .query(({ ctx, input: { uuid, restore_uuid } }) => ctx.control.restores.get(uuid, restore_uuid)),

  follow: onResource("database", {
    method: "GET",
    path: "/restores/{restore_uuid}/follow",
    operationId: "follow-database-restore",
    summary: "Follow a restore or drill",
    description: "Its state now, and again each time that it has changed, until it has ended.",
    ability: "read",
    input: z.strictObject({ restore_uuid, ...resumable }),
    events: Restore,
  }).subscription(({ ctx, input: { uuid, restore_uuid }, signal }) =>
    ctx.control.restores.follow(uuid, restore_uuid, signal ?? ctx.signal),
  ),

  cancel: onResource("database", {
    method: "POST",
    path: "/restores/{restore_uuid}/cancel",
    operationId: "cancel-database-restore",
    summary: "Cancel a restore or drill",
    description:
      "Answers when its work has ended, within seconds. `status` is `running` in the answer if that takes longer; " +
      "it is then cancelled as soon as the work has ended. `detail` describes the state of the database.",
    ability: "write",
    errors: ["backup.not_cancellable"],
    input: z.strictObject({ restore_uuid }),
  })
    .output(BackupRunCancelled)
    .mutation(({ ctx, input: { uuid, restore_uuid } }) => ctx.control.restores.cancel(uuid, restore_uuid)),
};
