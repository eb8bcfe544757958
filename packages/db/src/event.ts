import type { EventStore } from "@berth/core/ports";
import { emit, inTransaction, type TeamContext } from "./context.ts";
import { ofOwner } from "./page.ts";

const TAKE_MAX = 1000;

export function eventStore(context: TeamContext): EventStore {
  const { db, teamId } = context;
  return {
    append: (event) => inTransaction(context, async (tx) => emit(tx, { ...event, team_id: teamId })),
    list: ({ after = 0, take = TAKE_MAX }) => {
      const events = db
        .selectFrom("event")
        .select(["id", "type", "resource_uuid", "payload", "created_at"])
        .where("id", ">", after);
      return ofOwner(events, { owner: "event.team_id", is: teamId, id: "event.id" })
        .limit(Math.min(take, TAKE_MAX))
        .execute();
    },
  };
}
