import type { ServerRecord, SystemStores } from "@berth/core";
import type { Pulse } from "./pulse.ts";

/**
 * The stores for loops that look after all servers every few seconds: what one of them has read lately serves the others
 * too, unless something was told of since.
 */
export function withSharedServers(
  stores: SystemStores,
  pulse: Pick<Pulse, "beats">,
  keptSeconds: number,
): SystemStores {
  let last:
    | { readonly servers: Promise<readonly ServerRecord[]>; readonly beats: number; readonly atMs: number }
    | undefined;

  const list = (): Promise<readonly ServerRecord[]> => {
    const nowMs = performance.now();
    if (last?.beats === pulse.beats && nowMs - last.atMs < keptSeconds * 1000) return last.servers;
    const reading = { servers: stores.servers.list(), beats: pulse.beats, atMs: nowMs };
    last = reading;
    // One that failed is not kept for the others.
    reading.servers.catch(() => {
      if (last === reading) last = undefined;
    });
    return reading.servers;
  };

  return { ...stores, servers: { ...stores.servers, list } };
}
