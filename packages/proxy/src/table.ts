import type { Site } from "@berth/core/ports";

/** A site of the table, and which of its upstreams is next. */
export interface SiteEntry {
  readonly site: Site;
  turn: number;
}

export interface RouteEntry {
  readonly entry: SiteEntry;
  readonly path: string;
  /** Path without escapes, to compare with decoded request paths. */
  readonly decodedPath: string;
  readonly redirectToHost: string | undefined;
  readonly isUnlisted: boolean;
}

/** Sites and their routes. A change of a site costs the same among ten sites and among ten thousand. */
export class RouteTable {
  readonly #entries = new Map<string, SiteEntry & { readonly order: number }>();
  /** Ids of the sites that claim a host. */
  readonly #claims = new Map<string, Set<string>>();
  readonly #routes = new Map<string, readonly RouteEntry[]>();
  #order = 0;

  constructor(sites: Iterable<Site> = []) {
    for (const site of sites) this.put(site);
  }

  /** Routes of a host, the longest path first. When two sites claim the same path, the later one wins. */
  routesOf(host: string): readonly RouteEntry[] | undefined {
    return this.#routes.get(host);
  }

  sites(): readonly Site[] {
    return [...this.#entries.values()].map(({ site }) => site);
  }

  /** @returns The site that it replaces, whose place in the order it takes. */
  put(site: Site): Site | undefined {
    const before = this.#entries.get(site.id);
    this.#entries.set(site.id, { site, turn: 0, order: before?.order ?? this.#order++ });
    const hosts = hostsOf(site);
    for (const host of hosts) this.#claims.set(host, (this.#claims.get(host) ?? new Set()).add(site.id));
    this.#changed(new Set([...hosts, ...hostsOf(before?.site)]));
    return before?.site;
  }

  /** @returns The removed site. */
  delete(siteId: string): Site | undefined {
    const site = this.#entries.get(siteId)?.site;
    this.#entries.delete(siteId);
    this.#changed(hostsOf(site));
    return site;
  }

  #changed(hosts: ReadonlySet<string>): void {
    for (const host of hosts) {
      const entries = [...(this.#claims.get(host) ?? [])]
        .flatMap((id) => this.#entries.get(id) ?? [])
        .filter(({ site }) => hostsOf(site).has(host))
        .sort((a, b) => a.order - b.order);
      if (entries.length === 0) {
        this.#claims.delete(host);
        this.#routes.delete(host);
      } else {
        this.#claims.set(host, new Set(entries.map(({ site }) => site.id)));
        this.#routes.set(host, routesOf(host, entries));
      }
    }
  }
}

const hostsOf = (site: Site | undefined): ReadonlySet<string> => new Set(site?.routes.map(({ host }) => host));

function routesOf(host: string, entries: readonly SiteEntry[]): readonly RouteEntry[] {
  const routes = new Map<string, RouteEntry>();
  for (const entry of entries) {
    for (const { host: claimed, path, redirectToHost, isUnlisted = false } of entry.site.routes) {
      if (claimed !== host) continue;
      routes.set(path, { entry, path, decodedPath: decode(path, ESCAPE), redirectToHost, isUnlisted });
    }
  }
  return [...routes.values()].sort((a, b) => b.path.length - a.path.length);
}

/**
 * The route of a request, by its raw path: everything before the first `?` or `#`, with escapes undecoded.
 *
 * Applications decode escapes, dot segments, double and backward slashes and `;parameters`, each in its own way. By
 * its raw form, `/api/..%2finternal` belongs to the site of `/api`, but an application may read it as `/internal`,
 * which that site does not publish. If any such reading leads to another site the request is refused; all other paths
 * are passed on unchanged.
 *
 * @param host As returned by `hostName`.
 * @param target The request target; only the origin form (`/path?query`) has a route.
 */
export function findRoute(table: RouteTable, host: string, target: string): RouteEntry | "unknown" | "ambiguous" {
  const routes = table.routesOf(host);
  if (routes === undefined) return "unknown";
  if (!target.startsWith("/")) return "ambiguous";
  const path = rawPath(target);
  const route = routes.find((candidate) => isBelow(path, candidate.path));
  const isWholeHost = routes.length === 1 && routes[0]?.path === "/";
  if (!isWholeHost && READ_DIFFERENTLY.test(path)) {
    if (decode(path, ESCAPE).split(/[/\\]/).length > SEGMENTS_READ_MAX) return "ambiguous";
    for (const { text, isDecoded } of readings(path)) {
      const other = routes.find((candidate) => isBelow(text, isDecoded ? candidate.decodedPath : candidate.path));
      if (other?.entry !== route?.entry || other?.redirectToHost !== route?.redirectToHost) return "ambiguous";
    }
  }
  return route ?? "unknown";
}

/** The host of a `Host` header: lower case, without port and without the root's trailing dot. */
export function hostName(header: string): string {
  const end = header.startsWith("[") ? header.indexOf("]") + 1 : header.search(/:|$/);
  const host = header.slice(0, end);
  return (host.endsWith(".") ? host.slice(0, -1) : host).toLowerCase();
}

/** `:8080` of `a.test:8080`; empty without a port. */
export function hostPort(header: string): string {
  return /:\d{1,5}$/.exec(header)?.[0] ?? "";
}

const READ_DIFFERENTLY = /[%\\;]|\/\.|\/\//;

function rawPath(target: string): string {
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}

function isBelow(path: string, prefix: string): boolean {
  if (prefix === "/") return true;
  return path.startsWith(prefix) && (path.length === prefix.length || path[prefix.length] === "/");
}

interface Reading {
  readonly text: string;
  readonly isDecoded: boolean;
}

/** Possible readings of a path: each combination is used by some application. */
function* readings(path: string): Generator<Reading> {
  for (const escapes of path.includes("%") ? [undefined, ESCAPED_DOT, ESCAPE] : [undefined]) {
    const decoded = escapes === undefined ? path : decode(path, escapes);
    for (const slash of decoded.includes("\\") ? ["/", /[/\\]/] : ["/"]) {
      for (const hasParameters of decoded.includes(";") ? [false, true] : [false]) {
        const parts = decoded.split(slash).slice(1);
        const segments = hasParameters ? parts.map((part) => part.replace(/;.*$/s, "")) : parts;
        yield { text: withoutDots(segments), isDecoded: escapes === ESCAPE };
        yield { text: withoutDots(segments.filter((segment) => segment !== "")), isDecoded: escapes === ESCAPE };
      }
    }
  }
}

function withoutDots(segments: readonly string[]): string {
  const kept: string[] = [];
  for (const segment of segments) {
    if (segment === "..") kept.pop();
    else if (segment !== ".") kept.push(segment);
  }
  return `/${kept.join("/")}`;
}

function decode(path: string, escapes: RegExp): string {
  return path.replace(escapes, (escaped) => String.fromCharCode(Number.parseInt(escaped.slice(1), 16)));
}

/** Real paths have fewer, and testing all readings of a head full of slashes would take 30 ms. */
const SEGMENTS_READ_MAX = 256;

const ESCAPE = /%[0-9a-f]{2}/gi;
const ESCAPED_DOT = /%2e/gi;
