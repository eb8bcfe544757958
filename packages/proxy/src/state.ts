import type { IncomingMessage } from "node:http";
import type { Site } from "@berth/core/ports";
import { givenRequestId } from "./headers.ts";
import { RouteTable } from "./table.ts";
import { type Trust, trustIn } from "./trusted.ts";
import { createUpstreams, type Upstreams } from "./upstream.ts";

/** State that all requests of the proxy share. */
export interface ProxyState {
  readonly table: RouteTable;
  readonly upstreams: Upstreams;
  readonly trusts: Trust;
  /** Whether it accepts no new connections: clients are asked to close theirs. */
  isRetired: boolean;
  requests: number;
  /** Differs after each start. */
  readonly run: string;
  /** Records that an upstream has answered a request of the site. */
  countAnswer(site: Site): void;
  /** Answered requests of counted sites. */
  answered(): readonly (readonly [siteId: string, count: number])[];
  /** Replaces all sites. Like every change of sites, it applies to all later requests. */
  syncSites(sites: readonly Site[]): void;
  putSite(site: Site): void;
  deleteSite(siteId: string): void;
  requestId(request: IncomingMessage): string;
}

export function createState(options: { readonly trustedProxies: readonly string[] }): ProxyState {
  const upstreams = createUpstreams();
  // Unique but not secret: it connects lines of different logs.
  const prefix = `${Date.now().toString(36)}-${process.pid.toString(36)}-`;
  /** By id, of counted sites only. */
  const answered = new Map<string, number>();
  let table = new RouteTable();
  let count = 0;

  function countIfAsked({ id, isCounted }: Site): void {
    if (isCounted !== true) answered.delete(id);
    else if (!answered.has(id)) answered.set(id, 0);
  }

  return {
    get table() {
      return table;
    },
    upstreams,
    trusts: trustIn(options.trustedProxies),
    isRetired: false,
    requests: 0,
    run: prefix,
    countAnswer({ id }) {
      const count = answered.get(id);
      if (count !== undefined) answered.set(id, count + 1);
    },
    answered: () => [...answered],
    syncSites(sites) {
      const before = table.sites();
      table = new RouteTable(sites);
      const ids = new Set(sites.map(({ id }) => id));
      for (const id of [...answered.keys()]) if (!ids.has(id)) answered.delete(id);
      for (const site of sites) countIfAsked(site);
      upstreams.reroute(before, table.sites());
    },
    putSite(site) {
      upstreams.reroute(asList(table.put(site)), [site]);
      countIfAsked(site);
    },
    deleteSite(siteId) {
      upstreams.reroute(asList(table.delete(siteId)), []);
      answered.delete(siteId);
    },
    requestId: (request) => givenRequestId(request) ?? prefix + (count++).toString(36),
  };
}

const asList = (site: Site | undefined): readonly Site[] => (site === undefined ? [] : [site]);
