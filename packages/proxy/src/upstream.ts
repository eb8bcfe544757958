import type { Agent, ClientRequestArgs } from "node:http";
import type { Duplex } from "node:stream";
import type { Upstream } from "@berth/core/deploy";
import type { Site } from "@berth/core/ports";
import { http } from "./builtins.ts";
import type { SiteEntry } from "./table.ts";

/** Connections to one upstream, and its number of exchanges in progress. */
export interface UpstreamPool {
  readonly upstream: Upstream;
  readonly agent: UpstreamAgent;
  inFlight: number;
}

export interface InFlight extends Upstream {
  readonly inFlight: number;
}

export interface Upstreams {
  /** Counts an exchange (request, streaming response or upgraded connection). Call `leave` once at its end. */
  enter(upstream: Upstream): UpstreamPool;
  leave(pool: UpstreamPool): void;
  /**
   * Some routed sites were replaced by others. Connections to an upstream that no site has any more are closed: idle
   * ones now, others when their last exchange ends.
   */
  reroute(before: readonly RoutedSite[], after: readonly RoutedSite[]): void;
  inFlight(): InFlight[];
}

type RoutedSite = Pick<Site, "upstreams">;

/** Shorter than the 5 s of Node's and other servers, so that usually we close idle connections first. */
const IDLE_MS = 4000;
/** Usual servers keep idle connections for at least 2 s (gunicorn), so younger ones are not about to be closed. */
const FRESH_MS = 1000;
const IDLE_CONNECTIONS_MAX = 256; // Default of Node.

export function createUpstreams(): Upstreams {
  const pools = new Map<string, UpstreamPool>();
  /** How many sites have it as an upstream; 0 is not kept. */
  const routed = new Map<string, number>();

  function drop(key: string, pool: UpstreamPool): void {
    if (routed.has(key) || pool.inFlight > 0) return;
    pool.agent.destroy();
    pools.delete(key);
  }

  return {
    enter(upstream) {
      const key = upstreamKey(upstream);
      const pool = pools.get(key) ?? { upstream, agent: new UpstreamAgent(), inFlight: 0 };
      pool.agent.isRouted = routed.has(key);
      pools.set(key, pool);
      pool.inFlight++;
      return pool;
    },
    leave(pool) {
      pool.inFlight--;
      drop(upstreamKey(pool.upstream), pool);
    },
    reroute(before, after) {
      const changed = new Set<string>();
      const count = (sites: readonly RoutedSite[], by: 1 | -1) => {
        for (const key of sites.flatMap((site) => site.upstreams.map(upstreamKey))) {
          changed.add(key);
          const now = (routed.get(key) ?? 0) + by;
          if (now > 0) routed.set(key, now);
          else routed.delete(key);
        }
      };
      // The new ones are counted first, so that an upstream in both stays routed.
      count(after, 1);
      count(before, -1);
      for (const key of changed) {
        const pool = pools.get(key);
        if (pool === undefined) continue;
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

/** Keeps idle connections to one upstream; the last used one is reused first. */
export class UpstreamAgent extends http.Agent {
  isRouted = true;
  private readonly idleSince = new WeakMap<Duplex, number>();

  constructor() {
    super({ keepAlive: true, scheduling: "lifo", maxFreeSockets: IDLE_CONNECTIONS_MAX, timeout: IDLE_MS });
  }

  override getName(_options?: ClientRequestArgs): string {
    return CONNECTIONS;
  }

  override createConnection(...[options, onCreated]: Parameters<Agent["createConnection"]>): Duplex | null | undefined {
    const receive = (data: Buffer) => {
      // Nothing was asked: the next answer on this connection would not be that of its request.
      if (socket?.emit("data", data) !== true) socket?.destroy();
    };
    const reading = { ...options, onread: readInto(receive) };
    const socket: Duplex | null | undefined = super.createConnection(reading, onCreated);
    // Node would close our side later, and might use the connection for a request before.
    socket?.once("end", () => {
      if (this.freeSockets[CONNECTIONS]?.some((idle) => idle === socket)) socket.destroy();
    });
    return socket;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    this.idleSince.set(socket, Date.now());
    // Returns whether the upstream's `Keep-Alive` header leaves time for a reuse, although it is typed as void.
    const isKept: unknown = this.isRouted && super.keepSocketAlive(socket);
    return isKept === true;
  }

  /** Closes idle connections except recently used ones: for requests that must not be sent twice. */
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

/**
 * All answers are read into the same memory. Node's parser copies what it passes on before the next read; memory of its
 * own for each read would be garbage at once, and large answers would be slowed down by its collection.
 */
const readInto = (receive: (data: Buffer) => void) => ({
  buffer: READ_BUFFER,
  callback(length: number, buffer: Uint8Array) {
    receive(Buffer.from(buffer.buffer, buffer.byteOffset, length));
    return true;
  },
});
const READ_BUFFER = Buffer.allocUnsafeSlow(65_536); // As much as Node reads at once.

export const upstreamKey = ({ host, port }: Upstream) => `${host}:${port}`;

/** The next upstream in rotation that has not refused this request. */
export function nextUpstream(entry: SiteEntry, refused: ReadonlySet<string>): Upstream | undefined {
  const { upstreams } = entry.site;
  for (let count = 0; count < upstreams.length; count++) {
    const upstream = upstreams[entry.turn++ % upstreams.length];
    if (upstream !== undefined && !refused.has(upstreamKey(upstream))) return upstream;
  }
  return undefined;
}

/** In both directions. Twice Node's default, since cookies of single sign-on can exceed 16 KiB. */
export const MAX_HEADER_BYTES = 32 * 1024;
