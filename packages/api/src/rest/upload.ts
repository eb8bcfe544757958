import type { IncomingMessage } from "node:http";
import { finished } from "node:stream/promises";
import { DomainError } from "@berth/core";

/**
 * The body of a request while it arrives. Stopping early keeps the connection open, so that the caller still gets its
 * answer.
 */
export async function* uploadOf(request: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    // The request has no encoding set, so its chunks are buffers.
    for await (const chunk of request.iterator({ destroyOnReturn: false })) yield chunk as Buffer;
  } catch (cause) {
    throw new DomainError("request.malformed", "The upload broke off before its end.", { cause });
  }
}

/**
 * Reads and drops the rest of a refused body: a client that is still sending does not read the answer, and loses it
 * if the connection is closed with unread bytes.
 */
export async function discardRest(request: IncomingMessage): Promise<void> {
  if (request.readableEnded || request.destroyed) return;
  request.resume();
  const signal = AbortSignal.timeout(DISCARD_SECONDS_MAX * 1000);
  await finished(request, { signal, writable: false }).catch(() => undefined);
}

const DISCARD_SECONDS_MAX = 10;
