import type {
  ClusterCertificate,
  ManagedProxy,
  ProxyLifecycle,
  ProxyType,
  ServerRecord,
  Site,
  Proxy as SiteProxy,
} from "@berth/core/ports";
import { proxyProblem, redirectUrlOf } from "@berth/core/server";
import { ProxyStart } from "./proxy-start.ts";

type ProxyRecord = Pick<ServerRecord, "uuid" | "name" | "engine" | "proxy_type" | "is_proxy_stopped" | "user"> & {
  readonly settings: Pick<ServerRecord["settings"], "redirect_enabled" | "redirect_url">;
};

/** The proxy of one server as recorded in the database. It starts with the first site. */
export interface RecordedProxy extends SiteProxy {
  readonly lifecycle: ProxyLifecycle;
  /** Switches to a changed record, which may have another type of proxy or another login with its own folders. */
  use(server: ProxyRecord): void;
  /** Certificates that it serves; `undefined` if it cannot share them, or does not run. */
  certificates(): Promise<readonly ClusterCertificate[] | undefined>;
  /** See `CertificateSharing`. */
  useCertificates(certificates: readonly ClusterCertificate[]): Promise<void>;
}

interface RecordedProxyOptions {
  readonly placementOf?: ((server: ProxyRecord) => unknown) | undefined;
  readonly nowMs?: (() => number) | undefined;
}

/**
 * @param make Creates the proxy of a type; all types of one server share routes and the container's name.
 * @param options.placementOf Its container is another one where this differs. Default: never.
 * @param options.nowMs A monotonic clock.
 */
export function recordedProxy(
  first: ProxyRecord,
  make: (type: ProxyType) => ManagedProxy,
  { placementOf = () => undefined, nowMs = () => performance.now() }: RecordedProxyOptions = {},
): RecordedProxy {
  const start = new ProxyStart(typeOf(first), make, nowMs);
  start.isStopped = first.is_proxy_stopped;
  let current = factsOf(first);

  function factsOf(server: ProxyRecord) {
    return {
      user: server.user,
      placement: placementOf(server),
      redirectUrl: redirectUrlOf(server),
      problem: proxyProblem(server),
    };
  }

  return {
    get capabilities() {
      return start.told.capabilities;
    },
    lifecycle: {
      start: () => start.bring({ isAnew: false }),
      restart: () => start.bring({ isAnew: true }),
      async stop() {
        start.forget();
        start.forgetFailure();
        await start.wanted.stop();
      },
      status: () => start.status(),
    },
    use(server) {
      start.isStopped = server.is_proxy_stopped;
      if (start.isStopped) start.forget();
      const before = current;
      current = factsOf(server);
      const keepsRoutes = current.user === before.user;
      const isSame = typeOf(server) === start.wanted.type && current.placement === before.placement;
      if (!isSame || !keepsRoutes) start.replace(typeOf(server), { keepsRoutes });
      else if (current.redirectUrl !== before.redirectUrl) start.readAnew();
    },
    async sync(sites: readonly Site[]) {
      // A server without a site needs no proxy yet; a stopped one is started again.
      const { state } = await start.wanted.status();
      if (sites.length === 0 && state === "absent") return;
      // Another control plane may have started it first.
      if (start.isStopped && state !== "absent") await start.wanted.stop();
      if (state !== "running") start.forget();
      await start.tell(true, (proxy) => proxy.sync(sites));
    },
    put: (site) => start.tell(false, (proxy) => proxy.put(site)),
    delete: async (siteId) => {
      const { state } = await start.wanted.status();
      if (state !== "absent" || start.isBegun) await start.tell(false, (proxy) => proxy.delete(siteId));
    },
    certificates: async () => await start.told.sharing?.certificates(),
    useCertificates: (certificates) =>
      start.tell(true, async (proxy) => await proxy.sharing?.useCertificates(certificates)),
    inFlight: (upstream) => start.told.inFlight(upstream),
    answered: () => start.told.answered(),
    publicUrl: (url) => start.wanted.publicUrl(url),
    urlProblem: (url) => current.problem && `Nothing answers at ${url}. ${current.problem}`,
  };
}

/** Unknown values of older records mean no proxy. */
const typeOf = ({ proxy_type }: ProxyRecord): ProxyType =>
  proxy_type === "CADDY" || proxy_type === "TRAEFIK" ? proxy_type : "NONE";
