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
}

export interface SiteRoute {
  /** Lower case, IDNA. */
  readonly host: string;
  /** `/` or `/prefix` without a slash at its end. The longest prefix of a host wins; it is passed on unchanged. */
  readonly path: string;
  /** Answers with a redirect (308) to this host instead of the upstream: www and non-www. */
  readonly redirectToHost?: string | undefined;
}

/** One server's proxy. Every call rejects only with a `DomainError` and may be repeated. */
export interface Proxy {
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
