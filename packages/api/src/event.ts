import { Event, EventFilter, EventPage } from "@berth/core/team";
import { tracked } from "@trpc/server";
import { z } from "zod";
import { operation } from "./operation.ts";
import { resumable } from "./stream.ts";

const cursor = z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional();

export const events = {
  list: operation({
    method: "GET",
    path: "/events",
    operationId: "list-events",
    tag: "Events",
    summary: "List the team's events",
    description:
      "The newest first, and with `after` the oldest first. `next` selects the next page. Kept as long as " +
      "`BERTH_EVENT_DAYS` says.",
    ability: "read",
  })
    .input(
      z.strictObject({
        ...EventFilter,
        after: cursor.describe("Only events after this one, by its `id`."),
        before: cursor.describe("Only events before this one, by its `id`."),
        take: z.int().min(1).max(500).default(100).describe("Maximum number of events."),
      }),
    )
    .output(EventPage)
    .query(({ ctx, input }) => ctx.control.activity.list(input)),

  follow: operation({
    method: "GET",
    path: "/events/follow",
    operationId: "follow-events",
    tag: "Events",
    summary: "Follow the team's events",
    description: "From now on, or after the last received event, without gaps or repeats.",
    ability: "read",
    events: Event,
  })
    .input(z.strictObject({ ...EventFilter, ...resumable }))
    .subscription(async ({ ctx, input: { lastEventId, ...filter }, signal }) => {
      const after = lastEventId != null && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : undefined;
      const followed = await ctx.control.activity.follow(filter, { after, signal: signal ?? ctx.signal });
      return withIds(followed);
    }),
};

async function* withIds(followed: AsyncIterable<Event>) {
  for await (const event of followed) yield tracked(String(event.id), event);
}
