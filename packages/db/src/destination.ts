import { DomainError, notFound } from "@berth/core";
import type { DestinationStore } from "@berth/core/ports";
import { sql } from "kysely";
import { type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { countRows, page, within } from "./page.ts";

const COLUMNS = [
  "destination.id",
  "destination.uuid",
  "destination.server_id",
  "server.uuid as server_uuid",
  "server.engine as server_engine",
  "destination.name",
  "destination.network",
  "destination.created_at",
  "destination.updated_at",
] as const;

/**
 * Id of the server of a destination of the team; `undefined` if that is being removed. In a transaction: waits for a
 * removal of the server that is being requested, and delays a later one.
 */
export async function stayingServerOf({ db, teamId }: TeamContext, destinationId: number): Promise<number | undefined> {
  const found = await db
    .selectFrom("destination")
    .innerJoin("server", "server.id", "destination.server_id")
    .select("destination.server_id")
    .where("destination.id", "=", destinationId)
    .where("server.team_id", "=", teamId)
    .where("server.removing_at", "is", null)
    .forKeyShare("server")
    .executeTakeFirst();
  return found?.server_id;
}

export function destinationStore({ db, teamId }: TeamContext): DestinationStore {
  const own = () =>
    db
      .selectFrom("destination")
      .innerJoin("server", "server.id", "destination.server_id")
      .where("server.team_id", "=", teamId);
  const ownIds = () => db.selectFrom("server").select("id").where("team_id", "=", teamId);
  const of = (serverId: number | undefined) =>
    serverId === undefined ? own() : own().where("destination.server_id", "=", serverId);

  return {
    list: ({ server_id }, paging = {}) =>
      page(
        paging,
        (window) => within(of(server_id).select(COLUMNS).orderBy("destination.id"), window).execute(),
        () => countRows(of(server_id)),
      ),
    find: (uuid) => own().select(COLUMNS).where("destination.uuid", "=", uuid).executeTakeFirst(),
    async insert({ uuid, server_id, name, network }) {
      const server = await db
        .selectFrom("server")
        .select("id")
        .where("team_id", "=", teamId)
        .where("id", "=", server_id)
        .where("removing_at", "is", null)
        // Waits for a deletion of the server that is in progress, and delays a later one.
        .forKeyShare()
        .executeTakeFirst();
      if (server === undefined) throw notFound("Server");
      const inserted = await db
        .insertInto("destination")
        .values({ uuid, server_id, name, network })
        // An error would abort the caller's transaction.
        .onConflict((conflict) => conflict.constraint("destination_network").doNothing())
        .returning("id")
        .executeTakeFirst();
      if (inserted !== undefined) {
        return await own().select(COLUMNS).where("destination.id", "=", inserted.id).executeTakeFirstOrThrow();
      }
      const message = "A destination with this network already exists on the server.";
      throw new DomainError("resource.already_exists", message);
    },
    async update(uuid, { name }) {
      const updated = await db
        .updateTable("destination")
        .set({ name, updated_at: sql<Date>`now()` })
        .where("uuid", "=", uuid)
        .where("server_id", "in", ownIds())
        .returning("id")
        .executeTakeFirst();
      if (updated === undefined) return undefined;
      return await own().select(COLUMNS).where("destination.id", "=", updated.id).executeTakeFirst();
    },
    users: (id, take) =>
      db
        .selectFrom("resource")
        .select(["kind", "name"])
        .where(
          sql<boolean>`(destination_id = ${id} or resource.id in (
            select resource_id from application_destination attached where attached.destination_id = ${id}))`,
        )
        .where("team_id", "=", teamId)
        .orderBy("id")
        .limit(take)
        .execute(),
    async deleteIfUnused(id) {
      // The foreign key also protects a resource that is being created at the same moment.
      const deleted = await undefinedOn(isForeignKeyViolation, () =>
        db
          .deleteFrom("destination")
          .where("id", "=", id)
          .where("server_id", "in", ownIds())
          .where(({ not, exists, selectFrom }) =>
            not(exists(selectFrom("resource").select("id").whereRef("destination_id", "=", "destination.id"))),
          )
          .executeTakeFirst(),
      );
      return deleted !== undefined && deleted.numDeletedRows > 0n;
    },
  };
}
