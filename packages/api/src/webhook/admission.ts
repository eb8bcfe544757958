import { DomainError } from "@berth/core";
import type { FastifyReply, FastifyRequest } from "fastify";
import { whenClosed } from "../when-closed.ts";

/** Most deliveries are smaller; only larger ones could fill the memory. */
const SMALL_BYTES = 1_048_576;
/** Each may have 25 MB, which are in memory as bytes, as text and as objects. */
const LARGE_AT_ONCE = 4;
const RETRY_AFTER_SECONDS = 10; // hosts wait this long for an answer

/** Limits bodies that are read before their signature is known: few large ones at once, and none for long. */
export function bodyAdmission(secondsMax: number): (request: FastifyRequest, reply: FastifyReply) => void {
  let large = 0;
  return (request, reply) => {
    const timer = setTimeout(() => request.raw.destroy(), secondsMax * 1000).unref();
    request.raw.once("end", () => clearTimeout(timer));
    whenClosed(reply.raw, () => clearTimeout(timer));
    const length = Number(request.headers["content-length"] ?? Number.POSITIVE_INFINITY);
    if (length <= SMALL_BYTES) return;
    if (large >= LARGE_AT_ONCE) {
      const message = "Too many large deliveries at once. Send it again in a moment.";
      throw new DomainError("rate.limited", message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
    large += 1;
    whenClosed(reply.raw, () => {
      large -= 1;
    });
  };
}
