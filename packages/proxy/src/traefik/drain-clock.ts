import type { Upstream } from "@berth/core/deploy";

/** Traefik counts requests by the way they came in, not by where they went: all there is to go by is time. */
export interface DrainClock {
  /** These have routes now, and no others. */
  route(upstreams: Iterable<Upstream>): void;
  /** Whether it has had no route for long enough that what was in flight to it is taken to be over. */
  isOver(upstream: Upstream): boolean;
}

/** As nginx's and others' usual limit of a request; a deployment's own limit of draining may end it earlier. */
const DRAIN_SECONDS = 30;

/** Nobody asks about one that is over for so long. */
const FORGOTTEN_AFTER_MS = 3_600_000;

export function drainClock(nowMs: () => number, drainSeconds: number = DRAIN_SECONDS): DrainClock {
  let routed: ReadonlySet<string> = new Set();
  const leftMs = new Map<string, number>();
  const keyOf = ({ host, port }: Upstream) => `${host}:${port}`;
  return {
    route(upstreams) {
      const next = new Set(Array.from(upstreams, keyOf));
      for (const key of routed) if (!next.has(key)) leftMs.set(key, nowMs());
      for (const key of next) leftMs.delete(key);
      for (const [key, sinceMs] of leftMs) if (nowMs() - sinceMs > FORGOTTEN_AFTER_MS) leftMs.delete(key);
      routed = next;
    },
    isOver(upstream) {
      const key = keyOf(upstream);
      if (routed.has(key)) return false;
      // Left before this control plane began: the time begins at the first question.
      const sinceMs = leftMs.get(key) ?? nowMs();
      leftMs.set(key, sinceMs);
      return nowMs() - sinceMs >= drainSeconds * 1000;
    },
  };
}
