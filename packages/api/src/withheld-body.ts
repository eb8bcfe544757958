import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";

/**
 * Does not read the body of a request that will be refused whatever it contains, and continues as if it were empty,
 * so that the error is returned at once.
 *
 * @param isRefused Decides from the headers alone.
 */
export function withholdBodies(app: FastifyInstance, isRefused: (request: FastifyRequest) => boolean): void {
  app.addHook("preParsing", async (request, _reply, payload) => {
    if (!isRefused(request)) return payload;
    const empty = Readable.from([]);
    // The parsers compare it with the announced length.
    return Object.assign(empty, { receivedEncodedLength: Number(request.headers["content-length"] ?? 0) });
  });
}
