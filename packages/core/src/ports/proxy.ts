import type { Upstream } from "../deploy/release.ts";

/** One routable thing: an application, or one preview of it, or one container of a service. */
export interface Site {
  /** Stable: the resource's uuid, with `-pr-N` for a preview. */
  readonly id: string;
  /** Shown on the page for a site that is down. */
  readonly name: string;
  readonly routes: readonly SiteRoute[];
  /** Empty: the site is down and answers 503. Several: requests go round. */
  readonly upstreams: readonly Upstream[];
  readonly basicAuth?: { readonly username: string; readonly password: string } | undefined;
  /** Routes with https answer plain http by a redirect to it. */
  readonly isHttpsForced?: boolean | undefined;
  /** Answers are compressed for clients that say they take it. */
  readonly isCompressed?: boolean | undefined;
  /** The path of a route is taken away before the upstream sees the request. Default: it is passed on unchanged. */
  readonly isPrefixStripped?: boolean | undefined;
  /** Set on each request to the upstream; an empty value takes the header away. */
  readonly requestHeaders?: Readonly<Record<string, string>> | undefined;
  /** Set on each answer of the upstream; an empty value takes the header away. */
  readonly responseHeaders?: Readonly<Record<string, string>> | undefined;
}

export interface SiteRoute {
  /** Lower case, IDNA. */
  readonly host: string;
  /** `/` or `/prefix` without a slash at its end. The longest prefix of a host wins. */
  readonly path: string;
  /** Served by TLS too. Default: by plain http alone. */
  readonly isHttps?: boolean | undefined;
  /** Goes to this port of the upstreams instead of their own: the port that the URL names. */
  readonly upstreamPort?: number | undefined;
  /** Answers with a redirect (308) to this host instead of the upstream: www and non-www. */
  readonly redirectToHost?: string | undefined;
  /** Its answers ask search engines not to list them. */
  readonly isUnlisted?: boolean | undefined;
}

/** Features of sites that a proxy supports. Unsupported ones are accepted and have no effect. */
export interface ProxyCapabilities {
  readonly https: boolean;
  readonly compression: boolean;
  readonly customHeaders: boolean;
  /** `SiteRoute.upstreamPort`: where each release has an address of its own. */
  readonly upstreamPorts: boolean;
  /** `inFlight` counts; else it is a guess by the time that has passed since the upstream's last route went. */
  readonly requestCounts: boolean;
  /** Takes the dashboard's session out of the cookies that it forwards. */
  readonly hidesSession: boolean;
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

/** One server's proxy. Every call rejects only with a `DomainError` and may be repeated. */
export interface Proxy {
  readonly capabilities: ProxyCapabilities;
  /** Missing where it runs as long as Berth does. */
  readonly lifecycle?: ProxyLifecycle | undefined;
  /** Replaces all sites. Resolves when every new request follows the new table. */
  sync(sites: readonly Site[]): Promise<void>;
  /** Adds or replaces one site. No request fails: those in flight end on the upstream they began on. */
  put(site: Site): Promise<void>;
  /** Idempotent. */
  delete(siteId: string): Promise<void>;
  /** Requests (and open WebSocket or streaming connections) now in flight to an upstream. */
  inFlight(upstream: Upstream): Promise<number>;
  /** How a browser on this machine reaches a URL's site: adds the proxy's own port where it is not 80 or 443. */
  publicUrl(url: string): string;
}

export const PROXY_TYPES = ["CADDY", "TRAEFIK", "NONE"] as const;
export type ProxyType = (typeof PROXY_TYPES)[number];

/** A proxy that runs on a server as a container of its own, and continues serving while nobody looks after it. */
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
