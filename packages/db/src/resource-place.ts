import { DomainError } from "@berth/core";
import type { ResourceStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, type TeamContext } from "./context.ts";
import { stayingServerOf } from "./destination.ts";
import { violates } from "./errors.ts";

/** Changes of where a resource is. */
export function resourcePlaces(context: TeamContext): Pick<ResourceStore, "move" | "migrate"> {
  const { db, teamId } = context;
  return {
    async move(id, environment_id) {
      await db
        .updateTable("resource")
        .set({ environment_id, updated_at: sql<Date>`now()` })
        .where("id", "=", id)
        .where("team_id", "=", teamId)
        .where(sql<boolean>`exists (select from environment join project on project.id = environment.project_id
          where environment.id = ${environment_id} and project.team_id = ${teamId})`)
        .execute();
    },

    migrate: (id, destinationId) =>
      inTransaction(context, async (tx) => {
        const server_id = await stayingServerOf(tx, destinationId);
        if (server_id === undefined) return false;
        const before = await tx.db
          .selectFrom("resource")
          .select("server_id")
          .where("id", "=", id)
          .where("team_id", "=", teamId)
          .forNoKeyUpdate()
          .executeTakeFirst();
        if (before === undefined) return false;
        await tx.db
          .updateTable("resource")
          .set({ server_id, destination_id: destinationId, updated_at: sql<Date>`now()` })
          .where("id", "=", id)
          .execute();
        await tx.db
          .updateTable("container_name")
          .set({ server_id })
          .where("resource_id", "=", id)
          .execute()
          .catch((cause: unknown) => {
            throw violates(cause, "container_name_taken") ? nameTaken(cause) : cause;
          });
        // Volumes stay on the server that they were mounted on.
        await sql`update storage set has_volume = false where resource_id = ${id} and has_volume
          and ${before.server_id}::bigint <> ${server_id}`.execute(tx.db);
        // Its trigger plans the tasks anew, in the time zone of the server.
        await sql`update scheduled_task set frequency = frequency where resource_id = ${id}`.execute(tx.db);
        return true;
      }),
  };
}

const nameTaken = (cause: unknown) =>
  new DomainError(
    "resource.already_exists",
    "Another resource of that server has the same custom_internal_name. Choose another one first.",
    { cause },
  );
