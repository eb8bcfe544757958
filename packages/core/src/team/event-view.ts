import { z } from "zod";
import type { EventRecord } from "../ports/records.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

export const Event = z
  .object({
    id: z.int().describe("Grows. A reader who knows the last one misses none: use it as `after`."),
    type: z.string().describe("Such as `deployment.finished`."),
    resource_uuid: z.string().nullable().describe("What it is about, where that has an identifier."),
    payload: z.record(z.string(), z.unknown()).describe("Names and identifiers by the type. Never secrets."),
    actor: z
      .object({
        type: z.enum(["session", "token", "system"]),
        name: z.string().describe("The user's, the token's, or the part of Berth that acted."),
        user_id: z.int().nullable(),
      })
      .nullable()
      .describe("Who did it; null for what happened by itself."),
    created_at: Timestamp,
  })
  .meta({ id: "Event", description: "Something that happened in the team." });
export type Event = z.infer<typeof Event>;

export const EventPage = z
  .object({
    events: z.array(Event),
    next: z.int().nullable().describe("The `before` or `after` of the next page; null where there are no more."),
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
    .describe("Only those of this type, or with a dot at its end, of all types that begin so."),
  resource: z.string().max(255).optional().describe("Only those about the object with this identifier."),
};

export const eventView = (event: EventRecord): Event => ({
  id: event.id,
  type: event.type,
  resource_uuid: event.resource_uuid,
  payload: { ...event.payload },
  actor: event.actor,
  created_at: timestamp(event.created_at),
});
