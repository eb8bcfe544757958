import { type NotifiedEvent, settingOf } from "@berth/core/notification";
import { sql } from "kysely";
import { NEW_UUID } from "./new-uuid.ts";
import { storableJson } from "./storable.ts";

/**
 * Selects the deliveries of events: one for each channel of the team that asks for one, to be inserted in the
 * statement that writes the events. `undefined` if nobody can ask for any of them.
 */
export function deliveriesOf(events: readonly (NotifiedEvent & { readonly team_id: number })[]) {
  const notified = events.flatMap(({ team_id, type, resource_uuid, payload }) => {
    const setting = settingOf({ type, payload });
    return setting === undefined ? [] : [{ team_id, setting, event: { type, resource_uuid, payload } }];
  });
  if (notified.length === 0) return undefined;
  return sql`select ${NEW_UUID}, channel.team_id, channel.kind, notified.event
    from jsonb_to_recordset(${storableJson(notified)}::jsonb) as notified (team_id bigint, setting text, event jsonb)
    join notification_channel channel on channel.team_id = notified.team_id
    where channel.is_enabled and notified.setting = any(channel.events)`;
}
