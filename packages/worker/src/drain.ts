import { isDomainError } from "@berth/core";
import {
  type DrainSubject,
  drainedUpstreams,
  type ReleaseRef,
  siteIdOf,
  sitePartOf,
  type Upstream,
} from "@berth/core/deploy";
import type { Site, Proxy as SiteProxy } from "@berth/core/ports";
import type { ServerAdapters } from "./server-adapters.ts";
import { pause } from "./wait.ts";

interface Draining extends Pick<DrainSubject, "upstream" | "state"> {
  readonly release: ReleaseRef;
  readonly pullRequestId: number;
}

/**
 * Waits until containers of a release that get no new requests have answered those in flight.
 * @returns The number of requests still in flight at the time limit.
 */
export async function drainRelease(
  { proxy, router }: Pick<ServerAdapters, "proxy" | "router">,
  { release, pullRequestId, upstream, state }: Draining,
  secondsMax: number,
  signal: AbortSignal,
): Promise<number> {
  const partId = siteIdOf(release.resourceUuid, pullRequestId);
  const upstreams = drainedUpstreams({
    upstream,
    state,
    sites: [...router.sites()].flatMap(([id, site]): readonly Site[] => (sitePartOf(id) === partId ? [site] : [])),
    hasUpstreamPorts: proxy.capabilities.upstreamPorts,
  });
  return await drain(proxy, upstreams, secondsMax, signal);
}

async function drain(
  proxy: SiteProxy,
  upstreams: readonly Upstream[],
  secondsMax: number,
  signal: AbortSignal,
): Promise<number> {
  const endMs = performance.now() + secondsMax * 1000;
  for (;;) {
    const counts = await Promise.all(upstreams.map((upstream) => inFlightOf(proxy, upstream)));
    const count = counts.reduce((sum, one) => sum + one, 0);
    if (count === 0 || signal.aborted || performance.now() >= endMs) return count;
    await pause(DRAIN_INTERVAL_SECONDS, signal);
  }
}

/** A proxy that does not answer has no requests to wait for. */
async function inFlightOf(proxy: SiteProxy, upstream: Upstream): Promise<number> {
  try {
    return await proxy.inFlight(upstream);
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return 1;
  }
}

const DRAIN_INTERVAL_SECONDS = 0.25;
