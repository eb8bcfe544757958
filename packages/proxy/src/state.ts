import type { IncomingMessage } from "node:http";
import type { Site } from "@berth/core/ports";
import { givenRequestId } from "./headers.ts";
import { buildTable, type RouteTable } from "./table.ts";
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
  /** Applies a change to all later requests. */
  changeSites(change: (sites: Map<string, Site>) => void): void;
  requestId(request: IncomingMessage): string;
}

export function createState(options: { readonly trustedProxies: readonly string[] }): ProxyState {
  const sites = new Map<string, Site>();
  const upstreams = createUpstreams();
  // Unique but not secret: it connects lines of different logs.
  const prefix = `${Date.now().toString(36)}-${process.pid.toString(36)}-`;
  let table = buildTable([]);
  let count = 0;

  return {
    get table() {
      return table;
    },
    upstreams,
    trusts: trustIn(options.trustedProxies),
    isRetired: false,
    requests: 0,
    changeSites(change) {
      change(sites);
      table = buildTable(sites.values());
      upstreams.retain([...sites.values()].flatMap((site) => site.upstreams));
    },
    requestId: (request) => givenRequestId(request) ?? prefix + (count++).toString(36),
  };
}
