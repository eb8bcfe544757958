import type { ServerPart } from "@berth/core/deploy";
import { ServerSettings } from "@berth/core/server";
import { sql } from "kysely";
import { settingsOf } from "./application.ts";
import type { TeamContext } from "./context.ts";

/** Rows of `ReleaseStore.builds`, each build once, with their artifacts as they are stored. */
export async function keptBuilds({ db, teamId }: TeamContext, { resource_id, server_id }: ServerPart) {
  const rows = await db
    .selectFrom("release")
    .innerJoin("deployment as builder", "builder.uuid", "release.built_by")
    .select([
      "release.deployment_id",
      "release.built_by",
      "release.artifact",
      sql<boolean>`release.role = 'live'`.as("is_current"),
      "builder.commit",
      "builder.commit_message",
      "builder.created_at",
    ])
    .where("release.resource_id", "=", resource_id)
    .where("release.server_id", "=", server_id)
    .where("release.pull_request_id", "=", 0)
    .where((where) => where.or([where("release.role", "in", ["live", "kept"]), willBeKept]))
    .where("builder.team_id", "=", teamId)
    .orderBy("is_current", "desc")
    .orderBy("builder.id", "desc")
    .execute();
  const seen = new Set<string>();
  return rows.filter(({ built_by }) => !seen.has(built_by) && seen.add(built_by));
}

/**
 * A replaced release is stopped only after its last requests, and counts as kept until then: a deployment has ended
 * before that.
 */
const willBeKept = sql<boolean>`release.role = 'retiring'
  and exists (select from server where server.id = release.server_id and not coalesce(
    (server.settings ->> 'disable_application_image_retention')::boolean,
    ${sql.lit(ServerSettings.parse({}).disable_application_image_retention)}))
  and exists (select from application where application.resource_id = release.resource_id and coalesce(
    (application.settings ->> 'docker_images_to_keep')::int, ${sql.lit(settingsOf({}).docker_images_to_keep)}) > 0)`;
