import type { DeploySubject, LiveKey, ReleaseRef, SiteSubject } from "@berth/core/deploy";
import { deployedKind, siteIdOf, siteOf, sitePartOf, siteSubjects, upstreamsOf } from "@berth/core/deploy";
import type { Engine, Routing, Site, Proxy as SiteProxy, SystemStores } from "@berth/core/ports";
import type { ResourceKind } from "@berth/core/resource";
import pLimit from "p-limit";
import type { ReplicaHealth } from "./replica-health.ts";

/**
 * The only component that changes a server's proxy. Calls are serialised, and each reads the records at its turn: data
 * read earlier could route to a release that was replaced since.
 */
export interface Router {
  /**
   * Routes a resource, or one of its previews, as currently recorded.
   * @returns The resource as read last; `undefined`: it was removed.
   * @throws DomainError when the proxy or the engine does not answer.
   */
  route(part: RoutedPart): Promise<DeploySubject | undefined>;
  unroute(siteId: string): Promise<void>;
  /** Removes all sites of a resource, or of one of its previews. */
  unrouteAll(resourceUuid: string, pullRequestId: number): Promise<void>;
  /** Replaces all sites with those that `read` returns at this call's turn. */
  sync(read: () => Promise<readonly Site[]>): Promise<void>;
  /** The proxy's sites at this moment, by id: later changes do not appear in it. */
  sites(): ReadonlyMap<string, Site>;
  /** Whether the proxy may have other sites than recorded here, because a call failed. */
  isUncertain(): boolean;
}

export interface RoutedPart {
  readonly resourceId: number;
  readonly pullRequestId: number;
  /** The resource's kind as far as the caller knows, which saves a statement. */
  readonly kind?: ResourceKind;
}

export interface RouterAdapters {
  readonly serverId: number;
  readonly engine: Engine;
  readonly proxy: SiteProxy;
  readonly replicaHealth: Pick<ReplicaHealth, "appliedTo">;
}

export function createRouter(stores: SystemStores, adapters: RouterAdapters): Router {
  const { serverId, engine, proxy, replicaHealth } = adapters;
  const inTurn = pLimit(1);
  const inspect = async (ref: ReleaseRef) => {
    const state = await engine.inspect(ref);
    return state && replicaHealth.appliedTo(state);
  };
  let sites = new Map<string, Site>();
  /** Somebody may still read the map, which is then copied before a change: there may be ten thousand sites. */
  let isShared = false;
  let isUncertain = true;

  const send = async (work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      isUncertain = true;
      throw error;
    }
  };

  const sendSite = async (siteId: string, site: Site | undefined) => {
    await send(() => (site === undefined ? proxy.delete(siteId) : proxy.put(site)));
    if (isShared) sites = new Map(sites);
    isShared = false;
    if (site === undefined) sites.delete(siteId);
    else sites.set(siteId, site);
  };

  const sendPart = async ({ partId, sites: wanted }: Routed) => {
    if (partId === undefined) return;
    const ids = new Set(wanted.map(({ id }) => id));
    // New sites first: a URL that moves between containers is then served without a gap.
    for (const site of wanted) await sendSite(site.id, site);
    const known = [...sites.keys()].filter((id) => sitePartOf(id) === partId);
    // Another worker may have added sites that we did not.
    const gone = wanted.length === 0 ? new Set([...known, partId]) : known.filter((id) => !ids.has(id));
    for (const id of gone) await sendSite(id, undefined);
  };

  const sendAll = async (wanted: readonly Site[]) => {
    await send(() => proxy.sync(wanted));
    sites = new Map(wanted.map((site) => [site.id, site]));
    isUncertain = false;
  };

  return {
    route: ({ resourceId, pullRequestId, kind }) =>
      inTurn(async () => {
        let subject: DeploySubject | undefined;
        const read = async () => {
          const key = { resource_id: resourceId, server_id: serverId, pull_request_id: pullRequestId };
          const routing = await stores.resources.routing(key, subject?.kind ?? kind);
          subject = routing?.subject;
          return await routedPart(routing, key, inspect);
        };
        await settle(read, sendPart);
        return subject;
      }),
    unroute: (siteId) => inTurn(() => sendSite(siteId, undefined)),
    unrouteAll: (resourceUuid, pullRequestId) =>
      inTurn(() => sendPart({ partId: siteIdOf(resourceUuid, pullRequestId), sites: [] })),
    sync: (read) => inTurn(() => settle(read, sendAll)),
    sites() {
      isShared = true;
      return sites;
    },
    isUncertain: () => isUncertain,
  };
}

/**
 * Another control plane may change the proxy between our read and our write. Each writer reads again after its write,
 * so that the proxy finally has the recorded sites.
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

/**
 * `sites` is empty when the resource claims no URL or the preview was removed; `partId` is missing when the resource
 * was.
 */
interface Routed {
  readonly partId?: string;
  readonly sites: readonly Site[];
}

async function routedPart(
  routing: Routing | undefined,
  { server_id, pull_request_id: pullRequestId }: LiveKey,
  inspect: Engine["inspect"],
): Promise<Routed> {
  if (routing === undefined) return { sites: [] };
  const { subject, domains, live } = routing;
  const { record } = subject;
  const partId = siteIdOf(record.uuid, pullRequestId);
  const site = deployedKind(subject).site(subject);
  // A server routes to none while the one that has a live release answers: before it and after it has moved.
  const isElsewhere = live === null && (record.server_id !== server_id || routing.is_live_elsewhere);
  if (site === undefined || domains === null || domains.length === 0 || isElsewhere) return { partId, sites: [] };
  const ref: ReleaseRef | null = live && { resourceUuid: record.uuid, deploymentUuid: live.deployment_uuid };
  const state = ref === null ? undefined : await inspect(ref);
  const target = {
    desiredState: pullRequestId === 0 ? record.desired_state : "running",
    live: live ?? undefined,
    observed: state,
    replicas: pullRequestId === 0 ? deployedKind(subject).replicas(subject) : undefined,
  } as const;
  const upstreamsFor = ({ container }: SiteSubject) => (record.removing_at ? [] : upstreamsOf(target, container));
  const subjects = siteSubjects({ ...site, domains, pullRequestId });
  return { partId, sites: subjects.map((one) => siteOf(one, upstreamsFor(one))) };
}

const SETTLE_ATTEMPTS_MAX = 5;
