import type { Upstream } from "../deploy/release.ts";

/** A target of requests: an application, a preview, or one container of a service. */
export interface Site {
  /** Stable: the resource's uuid, with `-pr-N` for a preview. */
  readonly id: string;
  /** Shown on the error page of a site that is down. */
  readonly name: string;
  readonly routes: readonly SiteRoute[];
  /** Empty: the site is down and answers 503. Several are used in turn. */
  readonly upstreams: readonly Upstream[];
  readonly basicAuth?: { readonly username: string; readonly password: string } | undefined;
  /** Plain http to a route with https is redirected to https. */
  readonly isHttpsForced?: boolean | undefined;
  /** Responses are compressed for clients that accept it. */
  readonly isCompressed?: boolean | undefined;
  /** The path of the route is removed before requests are forwarded. Default: it is kept. */
  readonly isPrefixStripped?: boolean | undefined;
  /** Set on each request to the upstream; an empty value removes the header. */
  readonly requestHeaders?: Readonly<Record<string, string>> | undefined;
  /** Set on each response of the upstream; an empty value removes the header. */
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
  /** Its requests are counted, see `Proxy.answered`. */
  readonly isCounted?: boolean | undefined;
}

export interface SiteRoute {
  /** Lower case, IDNA. */
  readonly host: string;
  /** `/` or `/prefix` without a trailing slash. The longest matching prefix of a host wins. */
  readonly path: string;
  /** Also served with TLS. Default: plain http only. */
  readonly isHttps?: boolean | undefined;
  /** Replaces the port of the upstreams: the port in the URL. */
  readonly upstreamPort?: number | undefined;
  /** Redirects (308) to this host instead of forwarding: www and non-www. */
  readonly redirectToHost?: string | undefined;
  /** Responses tell search engines not to index them. */
  readonly isUnlisted?: boolean | undefined;
}

/** Features of sites that a proxy supports. Others are accepted and ignored. */
export interface ProxyCapabilities {
  readonly https: boolean;
  readonly compression: boolean;
  readonly customHeaders: boolean;
  /** Supports `SiteRoute.upstreamPort`, where each release has an address of its own. */
  readonly upstreamPorts: boolean;
  /** `inFlight` counts requests; otherwise it estimates from the time since the upstream's last route was removed. */
  readonly requestCounts: boolean;
  /** Supports `Site.isCounted`. */
  readonly answerCounts: boolean;
  /** An application may answer while it still reads the request's body. */
  readonly earlyAnswers: boolean;
  /** Removes the dashboard's session from cookies that it forwards. */
  readonly hidesSession: boolean;
}

/** Requests that upstreams have answered. Not those that the proxy answered itself, nor upgraded connections. */
export interface AnsweredRequests {
  /** Differs after each start of the proxy. Only counts of the same run can be compared. */
  readonly run: string;
  /** By id of each counted site. A lower count than before is a counter that began again. */
  readonly bySite: ReadonlyMap<string, number>;
}

/** Lifecycle of a proxy that runs on its own. */
export interface ProxyLifecycle {
  /** Idempotent. @throws DomainError `setup.failed` as `ManagedProxy.ensure` */
  start(): Promise<void>;
  /** Replaces its container, even one that is as it should be. @throws DomainError `setup.failed` as `start` */
  restart(): Promise<void>;
  /** Idempotent. What it is told meanwhile holds from its next start on. */
  stop(): Promise<void>;
  status(): Promise<SeenProxyStatus>;
}

/** As it is seen now. */
export interface SeenProxyStatus extends ManagedProxyStatus {
  /** Why it is not the proxy that is wanted, though another may serve in its place. */
  readonly problem?: string | undefined;
}

/** One server's proxy. Each call rejects only with a `DomainError` and may be repeated. */
export interface Proxy {
  readonly capabilities: ProxyCapabilities;
  /** Missing if it always runs together with Berth. */
  readonly lifecycle?: ProxyLifecycle | undefined;
  /** Replaces all sites. Resolves when every new request is routed by the new table. */
  sync(sites: readonly Site[]): Promise<void>;
  /** Adds or replaces one site. No request fails: requests in flight end on their old upstream. */
  put(site: Site): Promise<void>;
  /** Idempotent. */
  delete(siteId: string): Promise<void>;
  /** Requests (and open WebSocket or streaming connections) in flight to an upstream. */
  inFlight(upstream: Upstream): Promise<number>;
  /** `undefined`: it does not run, is being replaced, or does not count. */
  answered(): Promise<AnsweredRequests | undefined>;
  /** The URL of a site for a browser, with the proxy's port if it is not 80 or 443. */
  publicUrl(url: string): string;
  /** Why nothing answers at a URL of a site, and what to do. */
  readonly urlProblem?: ((url: string) => string | undefined) | undefined;
}

export const PROXY_TYPES = ["CADDY", "TRAEFIK", "NONE"] as const;
export type ProxyType = (typeof PROXY_TYPES)[number];

/** A proxy in a container of its own on a server, which keeps serving while the control plane is down. */
export interface ManagedProxy extends Proxy {
  readonly type: ProxyType;
  /**
   * Makes and starts its container with the routes it had, instead of one of another type or with other settings: that
   * one serves until the new one does, and remains when it does not. Idempotent. Resolves when it takes requests.
   *
   * @param options.isAnew Replaces a container that is as it should be too.
   * @throws DomainError `setup.failed` with what it said when it does not come up, such as a port in use.
   */
  ensure(options?: { readonly isAnew?: boolean }): Promise<void>;
  /** Idempotent. Routes and certificates stay for the next `ensure`. */
  stop(): Promise<void>;
  status(): Promise<ManagedProxyStatus>;
  /** Missing if its certificates cannot be shared by proxies of several machines. */
  readonly sharing?: CertificateSharing | undefined;
}

export interface CertificateSharing {
  /** Certificates that it serves: the operator's, and those it obtained. Empty while it does not run. */
  certificates(): Promise<readonly ClusterCertificate[]>;
  /** Serves these, instead of those of the last call. Idempotent. */
  useCertificates(certificates: readonly ClusterCertificate[]): Promise<void>;
}

/** A certificate with its chain, and its key, in PEM. */
export interface ClusterCertificate {
  /** A file name without its ending. */
  readonly name: string;
  readonly certificate: string;
  readonly key: string;
}

export interface ManagedProxyStatus {
  /** Of the container, while another type is wanted too. */
  readonly type: ProxyType;
  /** `absent`: there is no container; for `NONE` always. `starting`: it runs and does not answer. */
  readonly state: "absent" | "running" | "starting" | "exited" | "restarting";
  readonly image: string | null;
  readonly startedAt: Date | null;
  readonly restartCount: number;
}
