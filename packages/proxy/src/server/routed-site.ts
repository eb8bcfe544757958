import { createHash } from "node:crypto";
import type { Upstream } from "@berth/core/deploy";
import type { Site, SiteRoute } from "@berth/core/ports";
import { z } from "zod";
import { UNLISTED_HEADER } from "../headers.ts";

/** A site as it is stored on a server: with the hash of its password instead of the password. */
export interface RoutedSite extends Omit<Site, "basicAuth"> {
  /** `null`: to be protected, but with credentials that nobody can enter; the site stays down. */
  readonly basicAuth?: { readonly username: string; readonly passwordHash: string } | null | undefined;
  /** Number of slots for upstreams. It never shrinks, so that removing an upstream changes no route. */
  readonly slotCount: number;
}

/** Settings of a server's proxy, shared by its sites. */
export interface ProxySettings {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly tls: TlsSettings;
  /** Address ranges of proxies in front of this one, whose `X-Forwarded-*` headers are trusted. */
  readonly trustedProxies: readonly string[];
  /** Upstreams are on several machines. One that is lost closes no connection. Default: on the proxy's own machine. */
  readonly spansMachines?: boolean | undefined;
  /** Where requests for names that no site has go. Default: 404. */
  readonly redirectUrl?: string | undefined;
  /** Default: true. Otherwise it has only those certificates that are in its folder. */
  readonly issuesCertificates?: boolean | undefined;
  /** Where challenges of certificate authorities are answered instead of here. */
  readonly issuingProxy?: { readonly host: string; readonly port: number } | undefined;
}

export interface TlsSettings {
  /**
   * `automatic`: certificates of a public authority (ACME), and of the proxy's own authority for names that cannot get
   * one.
   */
  readonly issuer: "automatic" | "internal";
  /** Address for the authority's warnings about expiring certificates. */
  readonly email?: string | undefined;
  /** Directory URL of an ACME authority other than the proxy's default. */
  readonly acmeDirectory?: string | undefined;
  /** Root certificate of that authority in PEM, if the system does not trust it. */
  readonly acmeRoot?: string | undefined;
}

/** A certificate that the operator put into the proxy's folder. */
export interface OwnCertificate {
  /** Base name of `NAME.crt` and `NAME.key` in the folder. */
  readonly name: string;
  /** Host names of the certificate; `*.a.test` matches any one label before `a.test`. */
  readonly hosts: readonly string[];
  /** Hash of both files. */
  readonly digest: string;
}

const headers = z.record(z.string(), z.string()).optional();

/** The content of a site's file. */
export const RoutedSiteFile: z.ZodType<RoutedSite> = z.object({
  id: z.string(),
  name: z.string(),
  routes: z.array(
    z.object({
      host: z.string(),
      path: z.string(),
      isHttps: z.boolean().optional(),
      upstreamPort: z.int().optional(),
      redirectToHost: z.string().optional(),
      isUnlisted: z.boolean().optional(),
    }),
  ),
  upstreams: z.array(z.object({ host: z.string(), port: z.int() })),
  basicAuth: z.object({ username: z.string(), passwordHash: z.string() }).nullable().optional(),
  isHttpsForced: z.boolean().optional(),
  isCompressed: z.boolean().optional(),
  isPrefixStripped: z.boolean().optional(),
  requestHeaders: headers,
  responseHeaders: headers,
  isCounted: z.boolean().optional(),
  slotCount: z.int(),
});

/** The site's id if it is a valid file name on any machine, else its digest. */
export const fileNameOf = (siteId: string): string =>
  /^[a-z0-9][a-z0-9-]{0,99}$/.test(siteId)
    ? siteId
    : `x.${createHash("sha256").update(siteId).digest("hex").slice(0, 32)}`;

/** A route with its site. */
export interface HostRoute {
  readonly site: RoutedSite;
  readonly route: SiteRoute;
}

/**
 * Routes by host, the longest path first. Of two sites with the same host and path, the later one wins. Invalid hosts
 * and paths are left out: in a proxy's configuration they could mean something else.
 */
export function routesByHost(sites: Iterable<RoutedSite>): ReadonlyMap<string, readonly HostRoute[]> {
  const hosts = new Map<string, Map<string, HostRoute>>();
  for (const site of sites) {
    for (const route of site.routes) {
      if (!isPlainHost(route.host) || !isPlainPath(route.path)) continue;
      const routes = hosts.get(route.host) ?? new Map<string, HostRoute>();
      hosts.set(route.host, routes.set(route.path, { site, route }));
    }
  }
  const sorted = [...hosts].map(([host, routes]) => {
    return [host, [...routes.values()].sort((a, b) => b.route.path.length - a.route.path.length)] as const;
  });
  return new Map(sorted);
}

export const isPlainHost = (host: string): boolean =>
  host.length <= 253 && /^(\[[0-9a-f:.]+\]|[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?)$/.test(host);

function isPlainPath(path: string): boolean {
  if (!/^\/[\w\-.~!$&'()*+,;=:@%/]*$/.test(path) || (path !== "/" && path.endsWith("/"))) return false;
  try {
    return /^\P{C}*$/u.test(decodeURIComponent(path));
  } catch {
    return false;
  }
}

/** Upstreams of a route, with the route's own port if it names one. */
export const upstreamsOfRoute = ({ site, route }: HostRoute): readonly Upstream[] =>
  site.upstreams.map(({ host, port }) => ({ host, port: route.upstreamPort ?? port }));

/** The URL to which a route redirects on this listener, without its path; `undefined` when it does not redirect. */
export function redirectOf({ site, route }: HostRoute, isSecure: boolean, settings: ProxySettings): string | undefined {
  const isForced = site.isHttpsForced === true;
  if (route.redirectToHost !== undefined) {
    if (!isPlainHost(route.redirectToHost)) return undefined;
    const target = site.routes.find(({ host, path }) => host === route.redirectToHost && path === route.path);
    const isHttps = target?.isHttps === true && (isSecure || isForced);
    return originOf(route.redirectToHost, isHttps, settings);
  }
  return isForced && route.isHttps === true && !isSecure ? originOf(route.host, true, settings) : undefined;
}

function originOf(host: string, isHttps: boolean, { httpPort, httpsPort }: ProxySettings): string {
  if (isHttps) return `https://${host}${httpsPort === 443 ? "" : `:${httpsPort}`}`;
  return `http://${host}${httpPort === 80 ? "" : `:${httpPort}`}`;
}

export const coversHost = ({ hosts }: OwnCertificate, host: string): boolean =>
  hosts.some((name) => name === host || (name.startsWith("*.") && name.slice(1) === host.slice(host.indexOf("."))));

/** Headers to set and to remove; invalid names are left out. */
export function headerChange(headers: Readonly<Record<string, string>> = {}) {
  const plain = Object.entries(headers).filter(([name, value]) => isHeaderName(name) && !/[\r\n\0]/.test(value));
  return {
    set: plain.filter(([, value]) => value !== ""),
    removed: plain.filter(([, value]) => value === "").map(([name]) => name),
  };
}

/** Headers for a route's answers. */
export const responseHeadersOf = ({ site, route }: HostRoute) =>
  headerChange({
    ...site.responseHeaders,
    ...(route.isUnlisted === true && { [UNLISTED_HEADER[0]]: UNLISTED_HEADER[1] }),
  });

/** Excludes hop-by-hop and framing headers, which only the proxy may set. */
const isHeaderName = (name: string) =>
  /^[A-Za-z0-9][A-Za-z0-9-]{0,99}$/.test(name) &&
  !/^(host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-length|proxy-.*)$/i.test(name);

/** The URL at which a browser finds a site: a port in it is the container's own and is replaced by the proxy's. */
export function publicUrlOf(url: string, settings: ProxySettings): string {
  const [, scheme, authority, rest] = /^(https?):\/\/([^/?#]+)(.*)$/is.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return url;
  const isHttps = scheme.toLowerCase() === "https";
  return originOf(authority.replace(/:\d*$/, ""), isHttps, settings) + rest;
}
