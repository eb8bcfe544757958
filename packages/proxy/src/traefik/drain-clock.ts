import type { Upstream } from "@berth/core/deploy";

/** Traefik counts requests by entry point, not by upstream, so only time can tell when they are over. */
export interface DrainClock {
  /** Sets the upstreams that have routes now. */
  route(upstreams: Iterable<Upstream>): void;
  /** Whether it has had no route for so long that its requests in flight should be over. */
  isOver(upstream: Upstream): boolean;
}

/** Usual request limit of nginx and others; a deployment's own limit of draining may be shorter. */
const DRAIN_SECONDS = 30;

/** Nobody asks about an upstream that was removed so long ago. */
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
      // Removed before this control plane started: count from the first question.
      const sinceMs = leftMs.get(key) ?? nowMs();
      leftMs.set(key, sinceMs);
      return nowMs() - sinceMs >= drainSeconds * 1000;
    },
  };
}
