import type { Agent, ClientRequestArgs } from "node:http";
import type { Duplex } from "node:stream";
import type { Upstream } from "@berth/core/deploy";
import { http } from "./builtins.ts";
import type { SiteEntry } from "./table.ts";

/** One upstream's connections, and how many exchanges are on it now. */
export interface UpstreamPool {
  readonly upstream: Upstream;
  readonly agent: UpstreamAgent;
  inFlight: number;
}

export interface InFlight extends Upstream {
  readonly inFlight: number;
}

export interface Upstreams {
  /** Counts an exchange (request, streaming response or upgraded connection) in. Every one ends with one `leave`. */
  enter(upstream: Upstream): UpstreamPool;
  leave(pool: UpstreamPool): void;
  /** Every other upstream loses its idle connections: now, or when the last exchange on it ends. */
  retain(routed: Iterable<Upstream>): void;
  inFlight(): InFlight[];
}

/** Shorter than the 5 s after which Node's and others' servers hang up, so that it is mostly us who do. */
const IDLE_MS = 4000;
/** The shortest keep-alive among usual servers is 2 s (gunicorn): a younger connection is not about to be closed. */
const FRESH_MS = 1000;
const IDLE_CONNECTIONS_MAX = 256; // Node's default.

export function createUpstreams(): Upstreams {
  const pools = new Map<string, UpstreamPool>();
  let routed: ReadonlySet<string> = new Set();

  function drop(key: string, pool: UpstreamPool): void {
    if (routed.has(key) || pool.inFlight > 0) return;
    pool.agent.destroy();
    pools.delete(key);
  }

  return {
    enter(upstream) {
      const key = upstreamKey(upstream);
      const pool = pools.get(key) ?? { upstream, agent: new UpstreamAgent(), inFlight: 0 };
      pools.set(key, pool);
      pool.inFlight++;
      return pool;
    },
    leave(pool) {
      pool.inFlight--;
      drop(upstreamKey(pool.upstream), pool);
    },
    retain(upstreams) {
      routed = new Set(Array.from(upstreams, upstreamKey));
      for (const [key, pool] of pools) {
        pool.agent.isRouted = routed.has(key);
        if (!pool.agent.isRouted) pool.agent.dropIdle();
        drop(key, pool);
      }
    },
    inFlight: () =>
      [...pools.values()]
        .filter((pool) => pool.inFlight > 0)
        .map(({ upstream, inFlight }) => ({ host: upstream.host, port: upstream.port, inFlight })),
  };
}

/** Keeps connections of one upstream alive between requests, the one used last first. */
export class UpstreamAgent extends http.Agent {
  isRouted = true;
  private readonly idleSince = new WeakMap<Duplex, number>();

  constructor() {
    super({ keepAlive: true, scheduling: "lifo", maxFreeSockets: IDLE_CONNECTIONS_MAX, timeout: IDLE_MS });
  }

  override getName(_options?: ClientRequestArgs): string {
    return CONNECTIONS;
  }

  override createConnection(...args: Parameters<Agent["createConnection"]>): Duplex | null | undefined {
    const socket = super.createConnection(...args);
    // Node would close our half in its own time, and hand the connection to a request meanwhile.
    socket?.once("end", () => {
      if (this.freeSockets[CONNECTIONS]?.some((idle) => idle === socket)) socket.destroy();
    });
    return socket;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    this.idleSince.set(socket, Date.now());
    // Node's own answers whether the upstream's `Keep-Alive` header leaves time for a reuse; its type says nothing.
    const isKept: unknown = this.isRouted && super.keepSocketAlive(socket);
    return isKept === true;
  }

  /** Leaves only idle connections that were in use a moment ago: for requests that must not be sent twice. */
  dropStale(): void {
    const youngest = this.freeSockets[CONNECTIONS]?.at(-1);
    if (youngest === undefined || Date.now() - (this.idleSince.get(youngest) ?? 0) < FRESH_MS) return;
    this.dropIdle();
  }

  dropIdle(): void {
    for (const socket of this.freeSockets[CONNECTIONS] ?? []) socket.destroy();
  }
}

const CONNECTIONS = "upstream";

export const upstreamKey = ({ host, port }: Upstream) => `${host}:${port}`;

/** The next upstream in turn that has not refused this request. */
export function nextUpstream(entry: SiteEntry, refused: ReadonlySet<string>): Upstream | undefined {
  const { upstreams } = entry.site;
  for (let count = 0; count < upstreams.length; count++) {
    const upstream = upstreams[entry.turn++ % upstreams.length];
    if (upstream !== undefined && !refused.has(upstreamKey(upstream))) return upstream;
  }
  return undefined;
}

/** Both ways. Twice Node's default: cookies of single sign-on grow beyond 16 KiB. */
export const MAX_HEADER_BYTES = 32 * 1024;
