import { type DestinationRecord, notFound, type ServerRecord, ServerSettings, type ServerStore } from "@berth/core";
import { type Selectable, sql } from "kysely";
import { type Context, isId, type TeamContext } from "./context.ts";
import { countRows, page, within } from "./page.ts";
import { pick } from "./pick.ts";
import type { DB } from "./schema.ts";

const COLUMNS = [
  "id",
  "uuid",
  "team_id",
  "name",
  "description",
  "ip",
  "port",
  "user",
  "engine",
  "proxy_type",
  "settings",
  "cloud_provider_token_id",
  "hetzner_server_id",
  "created_at",
  "updated_at",
] as const;
const FIELDS = ["name", "description", "ip", "port", "user", "engine", "proxy_type"] as const;
const RENTED_FIELDS = ["cloud_provider_token_id", "hetzner_server_id"] as const;
const DESTINATION_COLUMNS = ["id", "uuid", "server_id", "name", "network", "created_at", "updated_at"] as const;

// What was stored before a setting existed lacks it and reads as its default.
const DEFAULTS = ServerSettings.parse({});
type ServerRow = Omit<Selectable<DB["server"]>, "private_key_id">;

const record = (row: ServerRow): ServerRecord => ({
  ...row,
  settings: { ...DEFAULTS, ...row.settings },
});

export function serverStore({ db, teamId }: TeamContext): ServerStore {
  const own = () => db.selectFrom("server").where("team_id", "=", teamId);
  return {
    list: (paging = {}) =>
      page(
        paging,
        async (window) => (await within(own().select(COLUMNS).orderBy("id"), window).execute()).map(record),
        () => countRows(own()),
      ),
    find: (uuid) => firstRecord(own().select(COLUMNS).where("uuid", "=", uuid)),
    findById: async (id) => (isId(id) ? await firstRecord(own().select(COLUMNS).where("id", "=", id)) : undefined),
    async insert({ uuid, settings, ...server }) {
      const row = await db
        .insertInto("server")
        .values({
          ...pick(server, FIELDS),
          ...pick(server, RENTED_FIELDS),
          uuid,
          team_id: teamId,
          settings: JSON.stringify(settings),
        })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow();
      return record(row);
    },
    async update(uuid, { settings, ...change }) {
      const row = await db
        .updateTable("server")
        .set({
          ...pick(change, FIELDS),
          ...pick(change, RENTED_FIELDS),
          updated_at: sql<Date>`now()`,
          ...(settings === undefined ? {} : { settings: sql<string>`settings || ${JSON.stringify(settings)}::jsonb` }),
        })
        .where("team_id", "=", teamId)
        .where("uuid", "=", uuid)
        .returning(COLUMNS)
        .executeTakeFirst();
      return row && record(row);
    },
    destinations: (serverId): Promise<readonly DestinationRecord[]> =>
      db
        .selectFrom("destination")
        .select(DESTINATION_COLUMNS)
        .where("server_id", "in", own().where("id", "=", serverId).select("id"))
        .orderBy("id")
        .execute(),
    async insertDestination({ uuid, server_id, name, network }) {
      const row = await db
        .insertInto("destination")
        .columns(["uuid", "server_id", "name", "network"])
        .expression(
          own()
            .where("id", "=", server_id)
            .select([
              sql<string>`${uuid}::text`.as("uuid"),
              "server.id",
              sql<string>`${name}::text`.as("name"),
              sql<string>`${network}::text`.as("network"),
            ]),
        )
        .returning(DESTINATION_COLUMNS)
        .executeTakeFirst();
      if (row === undefined) throw notFound("Server");
      return row;
    },
  };
}

/** Servers of all teams. */
export function systemServerStore({ db }: Context) {
  const all = () => db.selectFrom("server").select(COLUMNS);
  return {
    list: async (): Promise<readonly ServerRecord[]> => (await all().orderBy("id").execute()).map(record),
    find: (id: number): Promise<ServerRecord | undefined> => firstRecord(all().where("id", "=", id)),
  };
}

async function firstRecord(query: {
  executeTakeFirst(): Promise<ServerRow | undefined>;
}): Promise<ServerRecord | undefined> {
  const row = await query.executeTakeFirst();
  return row && record(row);
}
