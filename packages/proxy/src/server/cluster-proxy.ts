import type { Site, Proxy as SiteProxy } from "@berth/core/ports";
import type { CertificateCopies } from "./certificate-copies.ts";
import type { IngressNode } from "./ingress-node.ts";
import type { RecordedProxy } from "./recorded-proxy.ts";

/** The proxies of a cluster as one: that of its manager, and those of the nodes that take requests too. */
export interface ClusterProxy extends SiteProxy {
  /** Makes the nodes serve the present sites, since one has begun to take requests. */
  nodesChanged(): Promise<void>;
  /** Makes the manager's proxy serve the present sites, since its machine is back. */
  ownReturned(): Promise<void>;
}

export interface ClusterProxyOptions {
  readonly copies: CertificateCopies;
  /**
   * Whether the manager's machine is lost for the other managers too. Its proxy then leads no requests anywhere, and is
   * told the sites when it is back.
   */
  readonly isLost: () => Promise<boolean>;
  /** Called once when a node fails, until it succeeds again. */
  readonly warn: (message: string, cause: unknown) => void;
}

/**
 * A node that cannot be told keeps nobody else from being told, unless it serves: it would lead requests to releases
 * that end. Certificates are obtained by the manager's proxy alone, and copied.
 *
 * @param own The manager's proxy.
 * @param nodes The other nodes, as of now.
 */
export function clusterProxy(
  own: SiteProxy,
  nodes: () => Promise<readonly IngressNode[]>,
  { copies, isLost, warn }: ClusterProxyOptions,
): ClusterProxy {
  /** `undefined` before the first synchronisation: the nodes keep the sites that they had. */
  let sites: Map<string, Site> | undefined;
  const failing = new Set<string>();

  const tell = async ({ name, proxy }: IngressNode, work: (proxy: IngressNode["proxy"]) => Promise<void>) => {
    try {
      await work(proxy);
      failing.delete(name);
    } catch (error) {
      if (await isServing(proxy)) throw error;
      if (!failing.has(name)) warn(`Node ${name} does not get the sites of its cluster.`, error);
      failing.add(name);
    }
  };
  const tellNodes = async (work: (proxy: IngressNode["proxy"]) => Promise<void>) =>
    await all((await nodes()).map((node) => tell(node, work)));
  /** Asked before too: the connection to a machine that is lost takes seconds to fail. */
  const askOwn = async <T>(ask: () => Promise<T>, otherwise: T): Promise<T> => {
    if (await isLost()) return otherwise;
    try {
      return await ask();
    } catch (error) {
      if (await isLost()) return otherwise;
      throw error;
    }
  };
  const copyCertificates = () => copies.request([...(sites?.values() ?? [])]);

  return {
    get capabilities() {
      return own.capabilities;
    },
    lifecycle: own.lifecycle,
    async sync(wanted) {
      await askOwn(() => own.sync(wanted), undefined);
      sites = new Map(wanted.map((site) => [site.id, site]));
      await tellNodes((proxy) => proxy.sync(wanted));
      copyCertificates();
    },
    async put(site) {
      await all([askOwn(() => own.put(site), undefined), tellNodes((proxy) => proxy.put(site))]);
      sites?.set(site.id, site);
      copyCertificates();
    },
    async delete(siteId) {
      await all([askOwn(() => own.delete(siteId), undefined), tellNodes((proxy) => proxy.delete(siteId))]);
      sites?.delete(siteId);
    },
    async inFlight(upstream) {
      // Nobody counts the requests on a node that cannot be asked.
      const others = (await nodes()).map(({ proxy }) => proxy.inFlight(upstream).catch(() => 0));
      const counts = await Promise.all([askOwn(() => own.inFlight(upstream), 0), ...others]);
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async answered() {
      const others = (await nodes()).map(({ proxy }) => proxy.answered().catch(() => undefined));
      const seen = (await Promise.all([askOwn(() => own.answered(), undefined), ...others])).filter(
        (each) => each !== undefined,
      );
      if (seen.length === 0) return undefined;
      const bySite = new Map<string, number>();
      for (const each of seen) {
        for (const [id, count] of each.bySite) bySite.set(id, (bySite.get(id) ?? 0) + count);
      }
      // A node that comes or goes changes the sums as a restart does.
      return { run: seen.map(({ run }) => run).join(" "), bySite };
    },
    publicUrl: (url) => own.publicUrl(url),
    urlProblem: (url) => own.urlProblem?.(url),
    async nodesChanged() {
      const present = sites;
      if (present === undefined) return;
      await tellNodes((proxy) => proxy.sync([...present.values()]));
      copyCertificates();
    },
    async ownReturned() {
      if (sites !== undefined) await own.sync([...sites.values()]);
    },
  };
}

const isServing = async ({ lifecycle }: Pick<RecordedProxy, "lifecycle">): Promise<boolean> => {
  const status = await lifecycle.status().catch(() => undefined);
  return status?.state === "running";
};

/** Waits for all, then throws the first failure. */
async function all(works: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(works)).find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** The proxy of a node as its own server uses it: while it serves its cluster, the manager tells it the sites. */
export const nodeProxy = (proxy: RecordedProxy, isIngress: () => boolean): SiteProxy => ({
  get capabilities() {
    return proxy.capabilities;
  },
  lifecycle: proxy.lifecycle,
  sync: async (sites) => {
    if (!isIngress()) await proxy.sync(sites);
  },
  put: (site) => proxy.put(site),
  delete: (siteId) => proxy.delete(siteId),
  inFlight: (upstream) => proxy.inFlight(upstream),
  answered: () => proxy.answered(),
  publicUrl: (url) => proxy.publicUrl(url),
  urlProblem: (url) => proxy.urlProblem?.(url),
});
