import { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { HeldBytes } from "./held-bytes.ts";

/**
 * Counts large bodies while they arrive, until their answer is sent. A body beyond its owner's share is refused, and
 * the rest is not read.
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
  // The connection must stay open, to send the error.
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    bytes.hold((chunk as Buffer).length);
    yield chunk;
  }
}

/** Small enough that even the maximum number of connections needs little memory. */
const SMALL_BYTES = 16 * 1024;
