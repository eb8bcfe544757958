import { isTrackedEnvelope } from "@trpc/server";
import { type ZodType, z } from "zod";
import { asTrpcError } from "./errors.ts";

/**
 * Input key of subscriptions that can resume: the id of the last received event. tRPC's client and a browser's
 * `EventSource` send it automatically after a lost connection.
 *
 * A subscription looks up its object before it returns, so that an unknown one is a 404 rather than a broken stream:
 * `.subscription(async ({ ctx, input, signal }) => ctx.control.deployments.follow(...))`, where `follow` checks, then
 * returns an async iterable of `tracked(id, data)`. The stream ends with the iterable.
 */
export const resumable = {
  // The id of a log's line has the position in the log of each replica.
  lastEventId: z.string().max(8192).nullish().describe("Id of the last event that was received."),
};

/**
 * Validated events, with errors converted to tRPC's.
 *
 * @param data Result of a subscription
 */
export function checkedEvents(data: unknown, schema: ZodType): AsyncGenerator<unknown, void> {
  if (!isAsyncIterable(data)) throw new TypeError("A subscription must answer an async iterable.");
  return checked(data, schema);
}

async function* checked(events: AsyncIterable<unknown>, schema: ZodType) {
  try {
    for await (const event of events) {
      if (isTrackedEnvelope(event)) {
        const [id, data, mark] = event;
        yield [id, schema.parse(data), mark];
      } else yield schema.parse(event);
    }
  } catch (cause) {
    throw asTrpcError(cause);
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;
