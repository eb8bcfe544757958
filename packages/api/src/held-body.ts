import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { HeldBytes } from "./held-bytes.ts";

/**
 * Counts large bodies as they arrive, until their answer is sent. One that is beyond its owner's share is refused, and
 * the rest of it is not read.
 *
 * @param heldBy `undefined`: its body is not kept in memory.
 */
export function holdBodies(app: FastifyInstance, heldBy: (request: FastifyRequest) => HeldBytes | undefined): void {
  app.addHook("preParsing", async (request, _reply, payload) => {
    const announced = Number(request.headers["content-length"] ?? 0);
    const isLarge = request.headers["transfer-encoding"] !== undefined || announced > SMALL_BYTES;
    const bytes = isLarge && payload instanceof Readable ? heldBy(request) : undefined;
    if (bytes === undefined) return payload;
    return Readable.from(counting(payload as Readable, bytes), { objectMode: false });
  });
}

async function* counting(payload: Readable, bytes: HeldBytes) {
  // The connection stays, for the refusal to be sent on it.
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    bytes.hold((chunk as Buffer).length);
    yield chunk;
  }
}

/** As many of them as there may be connections are little. */
const SMALL_BYTES = 16 * 1024;
