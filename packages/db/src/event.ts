import type { EventStore, SystemEventStore } from "@berth/core/ports";
import { sql } from "kysely";
import { eventTopic } from "./changes.ts";
import { emit, inTransaction, type StoreContext, type TeamContext } from "./context.ts";
import { ofOwner } from "./page.ts";

const TAKE_MAX = 1000;
/** In case a notification was lost with the connection to the database. */
const WAIT_MS_MAX = 30_000;

export function eventStore(context: TeamContext): EventStore {
  const { db, teamId, database } = context;
  // The version at the first read after the last wait, so that a follower that reads, then waits, misses nothing.
  let seen: number | undefined;
  return {
    append: (event) => inTransaction(context, async (tx) => emit(tx, { ...event, team_id: teamId })),
    async list({ after, before, type, resource, take = TAKE_MAX, newestFirst = false }) {
      seen ??= database.changes.clock();
      const events = db
        .selectFrom("event")
        .select(["id", "type", "resource_uuid", "payload", "actor", "created_at"])
        .$if(after !== undefined, (query) => query.where("id", ">", after ?? 0))
        .$if(before !== undefined, (query) => query.where("id", "<", before ?? 0))
        .$if(resource !== undefined, (query) => query.where("resource_uuid", "=", resource ?? ""))
        .$if(type !== undefined, (query) => query.where(isOfType(type ?? "")));
      const direction = newestFirst ? "desc" : "asc";
      return ofOwner(events, { owner: "event.team_id", is: teamId, id: "event.id", direction })
        .limit(Math.min(take, TAKE_MAX))
        .execute();
    },
    async last() {
      seen ??= database.changes.clock();
      const events = db.selectFrom("event").select("id");
      const owned = { owner: "event.team_id", is: teamId, id: "event.id", direction: "desc" } as const;
      return (await ofOwner(events, owned).limit(1).executeTakeFirst())?.id ?? 0;
    },
    async changed(signal) {
      const since = seen ?? database.changes.clock();
      await database.changes.wait(eventTopic(teamId), since, signal, WAIT_MS_MAX);
      seen = undefined;
    },
  };
}

/** A prefix ends with a dot. Only `_` in it has a meaning for `like`. */
const isOfType = (type: string) =>
  type.endsWith(".") ? sql<boolean>`type like ${`${type.replaceAll("_", "\\_")}%`}` : sql<boolean>`type = ${type}`;

const PRUNED_AT_ONCE = 5000;

export const systemEventStore = ({ db }: StoreContext): SystemEventStore => ({
  async prune(keptDays) {
    const { numDeletedRows } = await db
      .deleteFrom("event")
      .where("id", "in", (eb) =>
        eb
          .selectFrom("event")
          .select("id")
          .where("created_at", "<", sql<Date>`now() - ${keptDays}::int * interval '1 day'`)
          .limit(PRUNED_AT_ONCE),
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  },
});
