import { z } from "zod";
import type { EventRecord } from "../ports/records.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

/** Who acted, as events and deployments record it. */
export const EventActorView = z.object({
  type: z.enum(["session", "token", "system"]),
  name: z.string().describe("Name of the user, the token, or the part of Berth that acted."),
  user_id: z.int().nullable(),
});

export const Event = z
  .object({
    id: z.int().describe("Grows with each event. Send the last one as `after` to miss none."),
    type: z.string().describe("Such as `deployment.finished`."),
    resource_uuid: z.string().nullable().describe("Identifier of its subject, if it has one."),
    payload: z.record(z.string(), z.unknown()).describe("Names and identifiers by the type. Never secrets."),
    actor: EventActorView.nullable().describe("Who caused it; null if nobody did."),
    created_at: Timestamp,
  })
  .meta({ id: "Event", description: "An event in the team." });
export type Event = z.infer<typeof Event>;

export const EventPage = z
  .object({
    events: z.array(Event),
    next: z.int().nullable().describe("The `before` or `after` of the next page; null if there is none."),
  })
  .meta({ id: "EventPage", description: "Some of the team's events." });
export type EventPage = z.infer<typeof EventPage>;

/** Filter for events. */
export const EventFilter = {
  type: z
    .string()
    .regex(
      /^[a-z0-9_]{1,60}\.([a-z0-9_]{1,60})?$/,
      "Must be a type such as deployment.finished, or a prefix such as deployment.",
    )
    .optional()
    .describe("Only events of this type; with a dot at the end, of all types with this prefix."),
  resource: z.string().max(255).optional().describe("Only events about the object with this identifier."),
};

export const eventView = (event: EventRecord): Event => ({
  id: event.id,
  type: event.type,
  resource_uuid: event.resource_uuid,
  payload: { ...event.payload },
  actor: event.actor,
  created_at: timestamp(event.created_at),
});
