import type {
  ManagedProxy,
  ProxyLifecycle,
  ProxyType,
  ServerRecord,
  Site,
  Proxy as SiteProxy,
} from "@berth/core/ports";

type ProxyRecord = Pick<ServerRecord, "proxy_type" | "is_proxy_stopped" | "user">;

/** The proxy of one server as recorded, started once there is a site. */
export interface RecordedProxy extends SiteProxy {
  readonly lifecycle: ProxyLifecycle;
  /** Switches to a changed record, which may have another type of proxy or another login with its own folders. */
  use(server: ProxyRecord): void;
}

/** @param make Makes a proxy of the given type; all types on a server share their routes and the container's name. */
export function recordedProxy(first: ProxyRecord, make: (type: ProxyType) => ManagedProxy): RecordedProxy {
  let current = make(typeOf(first));
  let { is_proxy_stopped: isStopped, user } = first;
  /** Ends when the type for which it was begun was started. */
  let starting: Promise<void> | undefined;

  const started = async (): Promise<ManagedProxy> => {
    const proxy = current;
    // A stopped proxy reads the changes at its next start.
    if (isStopped) return proxy;
    starting ??= proxy.ensure();
    const mine = starting;
    try {
      await mine;
      return proxy;
    } catch (error) {
      if (starting === mine) starting = undefined;
      throw error;
    }
  };

  return {
    get capabilities() {
      return current.capabilities;
    },
    lifecycle: {
      async start() {
        starting = undefined;
        await started();
      },
      async stop() {
        starting = undefined;
        await current.stop();
      },
      status: () => current.status(),
    },
    use(server) {
      isStopped = server.is_proxy_stopped;
      if (isStopped) starting = undefined;
      const hasRoutes = server.user === user;
      if (typeOf(server) === current.type && hasRoutes) return;
      const wasStarted = starting !== undefined && hasRoutes;
      user = server.user;
      current = make(typeOf(server));
      starting = undefined;
      // The routes are stored already, and a failure is retried with the next call.
      if (wasStarted) void started().catch(() => undefined);
    },
    async sync(sites: readonly Site[]) {
      // A server without sites needs no proxy yet; one that was stopped on purpose is started again.
      const { state } = await current.status();
      if (sites.length === 0 && state === "absent") return;
      // Another control plane may have started it before it learned of the stop.
      if (isStopped && state !== "absent") await current.stop();
      if (state !== "running") starting = undefined;
      await (await started()).sync(sites);
    },
    put: async (site) => (await started()).put(site),
    delete: async (siteId) => {
      const { state } = await current.status();
      if (state !== "absent" || starting !== undefined) await (await started()).delete(siteId);
    },
    inFlight: (upstream) => current.inFlight(upstream),
    publicUrl: (url) => current.publicUrl(url),
  };
}

/** Unknown types in old records mean no proxy. */
const typeOf = ({ proxy_type }: ProxyRecord): ProxyType =>
  proxy_type === "CADDY" || proxy_type === "TRAEFIK" ? proxy_type : "NONE";
