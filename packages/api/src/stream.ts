import { isTrackedEnvelope } from "@trpc/server";
import { type ZodType, z } from "zod";
import { asTrpcError } from "./errors.ts";

/**
 * Input key of every subscription that resumes: the id of the last event the caller has. tRPC's client and a browser's
 * `EventSource` send it by themselves after a lost connection.
 *
 * A subscription looks up what it follows before it answers, so that an unknown object is a 404 rather than a broken
 * stream: `.subscription(async ({ ctx, input, signal }) => ctx.control.deployments.follow(...))`, where `follow` checks,
 * then answers an async iterable of `tracked(id, data)`. The stream ends when the iterable does.
 */
export const resumable = {
  lastEventId: z.string().max(255).nullish().describe("Id of the last event that was received."),
};

/**
 * Events as they are documented, with errors in the transport's terms.
 *
 * @param data What a subscription answered
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
