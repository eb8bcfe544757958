import type { ServerResponse } from "node:http";

/**
 * Calls `listener` once the response was sent or its connection is lost: at once where that was before, for example while
 * the caller was looked up.
 */
export function whenClosed(response: ServerResponse, listener: () => void): void {
  if (response.destroyed) listener();
  else response.once("close", listener);
}
