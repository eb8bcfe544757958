import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";

/**
 * Leaves the body of a request unread that will be refused whatever is in it, and calls on as if it had none: the
 * refusal is then answered at once, by what refuses it anyway.
 *
 * @param isRefused Decides from the headers alone.
 */
export function withholdBodies(app: FastifyInstance, isRefused: (request: FastifyRequest) => boolean): void {
  app.addHook("preParsing", async (request, _reply, payload) => {
    if (!isRefused(request)) return payload;
    const empty = Readable.from([]);
    // The parsers compare it with what was announced.
    return Object.assign(empty, { receivedEncodedLength: Number(request.headers["content-length"] ?? 0) });
  });
}
