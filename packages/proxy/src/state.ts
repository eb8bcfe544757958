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
  let table = new RouteTable();
  let count = 0;

  return {
    get table() {
      return table;
    },
    upstreams,
    trusts: trustIn(options.trustedProxies),
    isRetired: false,
    requests: 0,
    syncSites(sites) {
      const before = table.sites();
      table = new RouteTable(sites);
      upstreams.reroute(before, table.sites());
    },
    putSite(site) {
      upstreams.reroute(asList(table.put(site)), [site]);
    },
    deleteSite(siteId) {
      upstreams.reroute(asList(table.delete(siteId)), []);
    },
    requestId: (request) => givenRequestId(request) ?? prefix + (count++).toString(36),
  };
}

const asList = (site: Site | undefined): readonly Site[] => (site === undefined ? [] : [site]);
