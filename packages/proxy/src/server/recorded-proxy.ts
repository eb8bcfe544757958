import { isDomainError } from "@berth/core";
import type {
  ClusterCertificate,
  ManagedProxy,
  ManagedProxyStatus,
  ProxyLifecycle,
  ProxyType,
  ServerRecord,
  Site,
  Proxy as SiteProxy,
} from "@berth/core/ports";
import { proxyProblem, redirectUrlOf } from "@berth/core/server";

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
  let wanted = make(typeOf(first));
  let { is_proxy_stopped: isStopped, user } = first;
  let placement = placementOf(first);
  let redirectUrl = redirectUrlOf(first);
  let problem = proxyProblem(first);
  /** Aborted when the type changes. */
  let starting: Promise<void> | undefined;
  let failure: Failure | undefined;
  /** The proxy that got the last update. */
  let told = wanted;

  const noteFailure = (error: unknown) => {
    const count = (failure?.count ?? 0) + 1;
    const restMs = Math.min(REST_SECONDS * 2 ** (count - 1), REST_SECONDS_MAX) * 1000;
    failure = { error, count, atMs: nowMs(), restMs };
  };

  /** The proxy that still serves while another type is wanted: it gets routes until the other one serves. */
  const standIn = async (): Promise<ManagedProxy | undefined> => {
    const { type, state } = await wanted.status();
    if (state !== "running") return undefined;
    if (type === wanted.type) return wanted;
    return told.type === type ? told : make(type);
  };

  /** @param isPatient Does not retry a failed start before the backoff has passed. */
  const started = async (isPatient: boolean): Promise<ManagedProxy> => {
    const proxy = wanted;
    // A stopped proxy reads changes at its next start.
    if (isStopped) return proxy;
    const mine = failure;
    if (starting === undefined && mine !== undefined) {
      const other = await standIn();
      const restMs = isPatient ? mine.restMs : other === undefined ? ASKED_REST_SECONDS * 1000 : Infinity;
      if (nowMs() - mine.atMs < restMs) {
        if (other === undefined) throw mine.error;
        return other;
      }
    }
    starting ??= proxy.ensure();
    return await settled(proxy, starting);
  };

  const settled = async (proxy: ManagedProxy, mine: Promise<void>): Promise<ManagedProxy> => {
    try {
      await mine;
      if (starting === mine) failure = undefined;
      return proxy;
    } catch (error) {
      if (wanted !== proxy) throw error;
      if (starting === mine) {
        starting = undefined;
        noteFailure(error);
      }
      const other = await standIn().catch(() => undefined);
      if (other === undefined) throw error;
      return other;
    }
  };

  const tell = async <T>(isPatient: boolean, work: (proxy: ManagedProxy) => Promise<T>): Promise<T> => {
    const proxy = await started(isPatient);
    told = proxy;
    return await work(proxy);
  };

  /** Requested by a caller who waits for the result, so it is tried at once. */
  const bring = async (isAnew: boolean): Promise<void> => {
    const proxy = wanted;
    if (isStopped) return;
    starting = proxy.ensure({ isAnew });
    const mine = starting;
    try {
      await mine;
      failure = undefined;
      told = proxy;
    } catch (error) {
      if (starting === mine) {
        starting = undefined;
        noteFailure(error);
      }
      throw error;
    }
  };

  /** The part of its configuration outside of sites has changed. */
  const readAnew = () => {
    starting = undefined;
    void tell(false, async () => {}).catch(() => undefined);
  };

  return {
    get capabilities() {
      return told.capabilities;
    },
    lifecycle: {
      start: () => bring(false),
      restart: () => bring(true),
      async stop() {
        starting = undefined;
        failure = undefined;
        await wanted.stop();
      },
      async status() {
        const status = await wanted.status();
        return failure === undefined ? status : { ...status, problem: problemOf(failure, status, wanted.type) };
      },
    },
    use(server) {
      isStopped = server.is_proxy_stopped;
      problem = proxyProblem(server);
      if (isStopped) starting = undefined;
      const hasRoutes = server.user === user;
      const isPlacedAnew = placementOf(server) !== placement;
      placement = placementOf(server);
      const isRedirectedAnew = redirectUrlOf(server) !== redirectUrl;
      redirectUrl = redirectUrlOf(server);
      if (typeOf(server) === wanted.type && hasRoutes && !isPlacedAnew) {
        if (isRedirectedAnew && starting !== undefined) readAnew();
        return;
      }
      const wasStarted = (starting !== undefined || failure !== undefined) && hasRoutes;
      user = server.user;
      wanted = make(typeOf(server));
      if (!wasStarted) told = wanted;
      starting = undefined;
      failure = undefined;
      // Its routes are saved, and a failed start is retried later.
      if (wasStarted) void tell(false, async () => {}).catch(() => undefined);
    },
    async sync(sites: readonly Site[]) {
      // A server without a site needs no proxy yet; a stopped one is started again.
      const { state } = await wanted.status();
      if (sites.length === 0 && state === "absent") return;
      // Another control plane may have started it first.
      if (isStopped && state !== "absent") await wanted.stop();
      if (state !== "running") starting = undefined;
      await tell(true, (proxy) => proxy.sync(sites));
    },
    put: (site) => tell(false, (proxy) => proxy.put(site)),
    delete: async (siteId) => {
      const { state } = await wanted.status();
      if (state !== "absent" || starting !== undefined) await tell(false, (proxy) => proxy.delete(siteId));
    },
    certificates: async () => await told.sharing?.certificates(),
    useCertificates: (certificates) => tell(true, async (proxy) => await proxy.sharing?.useCertificates(certificates)),
    inFlight: (upstream) => told.inFlight(upstream),
    answered: () => told.answered(),
    publicUrl: (url) => wanted.publicUrl(url),
    urlProblem: (url) => problem && `Nothing answers at ${url}. ${problem}`,
  };
}

/** Reason why the wanted proxy does not serve. */
interface Failure {
  readonly error: unknown;
  readonly count: number;
  readonly atMs: number;
  /** Pause before the automatic retry. */
  readonly restMs: number;
}

function problemOf({ error }: Failure, { type, state }: ManagedProxyStatus, wanted: ProxyType): string {
  const reason = isDomainError(error) ? error.message : "An internal error occurred. See the log of Berth.";
  if (state !== "running") return reason;
  const kept = type === wanted ? "The container that it had" : `The proxy ${type.toLowerCase()}`;
  return `${reason} ${kept} serves until that is mended.`;
}

/** Longest pause between attempts to pull a missing image. */
const REST_SECONDS = 5;
const REST_SECONDS_MAX = 300;
/** A deployment that needs the proxy retries sooner, since the cause may be fixed by then. */
const ASKED_REST_SECONDS = 5;

/** Unknown values of older records mean no proxy. */
const typeOf = ({ proxy_type }: ProxyRecord): ProxyType =>
  proxy_type === "CADDY" || proxy_type === "TRAEFIK" ? proxy_type : "NONE";
