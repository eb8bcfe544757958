import type { Engine, ReleaseRef, Site, Proxy as SiteProxy, SystemStores } from "@berth/core";
import { siteIdOf, siteOf, upstreamsOf } from "@berth/core";
import { claimsOf } from "./claims.ts";
import { lane } from "./wait.ts";

/**
 * The only one who tells a server's proxy anything. One call after the other, and each reads what is recorded when its
 * turn comes: what was read earlier would route to a release that has been replaced since.
 */
export interface Router {
  /**
   * Routes a resource, or one of its previews, as it is recorded now.
   * @throws DomainError when the proxy or the engine does not answer.
   */
  route(resourceId: number, pullRequestId: number): Promise<void>;
  unroute(siteId: string): Promise<void>;
  /** Replaces all sites by what `read` answers when the turn comes. */
  sync(read: () => Promise<readonly Site[]>): Promise<void>;
  /** What the proxy was last told, by the site's id. */
  sites(): ReadonlyMap<string, Site>;
  /** Whether the proxy may know something else, because a call failed. */
  isUncertain(): boolean;
}

export function createRouter(stores: SystemStores, engine: Engine, proxy: SiteProxy): Router {
  const inTurn = lane();
  let sites = new Map<string, Site>();
  let isUncertain = true;

  const tell = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      isUncertain = true;
      throw error;
    }
  };

  const tellSite = async ({ siteId, site }: Routed) => {
    if (siteId === undefined) return;
    await tell(() => (site === undefined ? proxy.delete(siteId) : proxy.put(site)));
    if (site === undefined) sites.delete(siteId);
    else sites.set(siteId, site);
  };

  const tellAll = async (wanted: readonly Site[]) => {
    await tell(() => proxy.sync(wanted));
    sites = new Map(wanted.map((site) => [site.id, site]));
    isUncertain = false;
  };

  return {
    route: (resourceId, pullRequestId) =>
      inTurn(() => settle(() => readSite(stores, engine, resourceId, pullRequestId), tellSite)),
    unroute: (siteId) => inTurn(() => tellSite({ siteId })),
    sync: (read) => inTurn(() => settle(read, tellAll)),
    sites: () => sites,
    isUncertain: () => isUncertain,
  };
}

/**
 * Another control plane may have told the proxy something newer between our reading and our telling. Whoever tells it
 * last looks once more, so what the proxy knows in the end is what is recorded.
 */
async function settle<T>(read: () => Promise<T>, write: (value: T) => Promise<void>): Promise<void> {
  let current = await read();
  for (let attempt = 1; attempt <= SETTLE_ATTEMPTS_MAX; attempt++) {
    await write(current);
    const next = await read();
    if (JSON.stringify(next) === JSON.stringify(current)) return;
    current = next;
  }
}

/** `site` is missing when the resource claims no URL or the preview is gone, both are when the resource is gone. */
interface Routed {
  readonly siteId?: string;
  readonly site?: Site;
}

async function readSite(
  stores: SystemStores,
  engine: Engine,
  resourceId: number,
  pullRequestId: number,
): Promise<Routed> {
  const [found, claims, live] = await Promise.all([
    stores.resources.application(resourceId),
    claimsOf(stores, resourceId, pullRequestId),
    stores.releases.live(resourceId, pullRequestId),
  ]);
  if (found === undefined) return {};
  const { application, secrets } = found;
  const siteId = siteIdOf(application.uuid, pullRequestId);
  if (claims === undefined || claims.length === 0) return { siteId };
  const ref: ReleaseRef | undefined = live && { resourceUuid: application.uuid, deploymentUuid: live.deployment_uuid };
  const state = ref && (await engine.inspect(ref));
  const desiredState = pullRequestId === 0 ? application.desired_state : "running";
  const upstreams = application.removing_at ? [] : upstreamsOf(desiredState, live, state);
  return { siteId, site: siteOf({ application, secrets, domains: claims, pullRequestId }, upstreams) };
}

const SETTLE_ATTEMPTS_MAX = 5;
