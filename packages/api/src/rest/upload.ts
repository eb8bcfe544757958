import type { IncomingMessage } from "node:http";
import { finished } from "node:stream/promises";
import { DomainError } from "@berth/core";

/** The body of a request as it arrives. Stopping early keeps the connection, so that the caller still gets its answer. */
export async function* uploadOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    // The request has no encoding set: its chunks are buffers.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
  } catch (cause) {
    throw new DomainError("request.malformed", "The upload broke off before its end.", { cause });
  }
}

/**
 * Reads the rest of an upload nobody wants: a caller that is still sending does not listen for its answer, and one whose
 * connection is closed on unread bytes loses it.
 */
export async function discardRest(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed) return;
  request.resume();
  const signal = AbortSignal.timeout(DISCARD_SECONDS_MAX * 1000);
  await finished(request, { signal, writable: false }).catch(() => undefined);
}

const DISCARD_SECONDS_MAX = 10;
