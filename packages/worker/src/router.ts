import type { Engine, ReleaseRef, Site, Proxy as SiteProxy, SystemStores } from "@berth/core";
import { siteOf, upstreamsOf } from "@berth/core";
import { lane } from "./wait.ts";

/**
 * The only one who tells a server's proxy anything. One call after the other, and each reads what is recorded when its
 * turn comes: what was read earlier would route to a release that has been replaced since.
 */
export interface Router {
  /** Routes a resource as it is recorded now. @throws DomainError when the proxy or the engine does not answer. */
  route(resourceId: number): Promise<void>;
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
    route: (resourceId) => inTurn(() => settle(() => readSite(stores, engine, resourceId), tellSite)),
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

/** `site` is missing when the resource claims no URL, both are when it is gone. */
interface Routed {
  readonly siteId?: string;
  readonly site?: Site;
}

async function readSite(stores: SystemStores, engine: Engine, resourceId: number): Promise<Routed> {
  const [found, domains, live] = await Promise.all([
    stores.resources.application(resourceId),
    stores.resources.domains(resourceId),
    stores.releases.live(resourceId, 0),
  ]);
  if (found === undefined) return {};
  const { application, secrets } = found;
  if (domains.length === 0) return { siteId: application.uuid };
  const ref: ReleaseRef | undefined = live && { resourceUuid: application.uuid, deploymentUuid: live.deployment_uuid };
  const state = ref && (await engine.inspect(ref));
  const upstreams = application.removing_at ? [] : upstreamsOf(application.desired_state, live, state);
  return { siteId: application.uuid, site: siteOf({ application, secrets, domains }, upstreams) };
}

const SETTLE_ATTEMPTS_MAX = 5;
