import type { EventQuery } from "@berth/core/ports";
import { type Event, type EventPage, eventView, requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { whileTokenWorks } from "./token-watch.ts";

/** Number of events that a follower reads at once. */
const FOLLOWED_MAX = 500;

type Filter = Pick<EventQuery, "type" | "resource">;

/** Events of the team. Payloads contain names and identifiers, which members may see. */
export function activity({ scope, stores }: UseCaseContext) {
  return {
    /** With `after` the oldest events first, else the newest first. */
    async list({ take, ...query }: EventQuery & { readonly take: number }): Promise<EventPage> {
      requireAbility(scope, "read");
      const newestFirst = query.after === undefined;
      const found = await stores.events.list({ ...query, newestFirst, take: take + 1 });
      const events = found.slice(0, take).map(eventView);
      return { events, next: found.length > take ? (events.at(-1)?.id ?? null) : null };
    },

    /**
     * All events after `after`, or from now on, without gaps or repeats, until `signal` fires or the token becomes
     * invalid.
     */
    async follow(
      filter: Filter,
      { after, signal }: { readonly after: number | undefined; readonly signal: AbortSignal },
    ): Promise<AsyncIterable<Event>> {
      requireAbility(scope, "read");
      // From the time of the request, not of the first read.
      const from = after ?? (await stores.events.last());
      return whileTokenWorks({ scope, stores }, signal, async function* (ended) {
        let cursor = from;
        while (!ended.aborted) {
          const events = await stores.events.list({ ...filter, after: cursor, take: FOLLOWED_MAX });
          for (const event of events) {
            cursor = event.id;
            yield eventView(event);
          }
          if (events.length < FOLLOWED_MAX) await stores.events.changed(ended);
        }
      });
    },
  };
}
