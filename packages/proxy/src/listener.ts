import type { Server } from "node:http";
import { fs, http, net } from "./builtins.ts";
import { forward } from "./forward.ts";
import type { ProxyConfig, ProxyLimits, ProxyStatus } from "./protocol.ts";
import type { ProxyState } from "./state.ts";
import { isUpgrade, upgrade } from "./upgrade.ts";
import { MAX_HEADER_BYTES } from "./upstream.ts";

/** The public port of the proxy. */
export interface Listener {
  /** Does nothing when it already listens. Never rejects: the status shows whether it worked. */
  listen(): Promise<void>;
  /** Gives up the port at once, and exits when the last connection has ended or after 5 minutes. */
  retire(): void;
  /** Like `retire`, but closes idle connections, and exits after 2 seconds at most. */
  stop(): void;
  /** Resolves once the first attempt to listen is over. */
  status(): Promise<ProxyStatus>;
}

const HEADERS_CHECK_MS_MAX = 5000;
const KEEP_ALIVE_MS = 75_000; // nginx's default, and longer than the idle timeout of usual load balancers.
const BACKLOG = 1024;
const RETIRE_MS_MAX = 300_000;
const STOP_MS_MAX = 2000;

export function createListener(config: ProxyConfig, state: ProxyState): Listener {
  const server = createServer(state, config.limits);
  let listenError: string | null = null;
  let isSettled = Promise.resolve();

  function attempt(): Promise<void> {
    if (server.listening || state.isRetired) return Promise.resolve();
    return new Promise((resolve) => {
      const onError = (error: NodeJS.ErrnoException) => {
        listenError = error.code ?? error.message;
        resolve();
      };
      server.once("error", onError);
      server.listen({ host: config.host, port: config.port, backlog: BACKLOG }, () => {
        server.off("error", onError);
        listenError = null;
        if (config.user !== null) becomeUser(config.user);
        resolve();
      });
    });
  }

  function retire(): void {
    if (state.isRetired) return;
    state.isRetired = true;
    // The HTTP server's own `close` would destroy idle connections, on which a request may be arriving.
    net.Server.prototype.close.call(server, () => process.exit());
    setTimeout(() => process.exit(), RETIRE_MS_MAX);
  }

  return {
    listen() {
      isSettled = isSettled.then(attempt);
      return isSettled;
    },
    retire,
    stop() {
      retire();
      server.closeIdleConnections();
      setTimeout(() => process.exit(), STOP_MS_MAX);
    },
    async status() {
      await isSettled;
      const address = server.address();
      return {
        ...config,
        pid: process.pid,
        port: typeof address === "object" && address !== null ? address.port : config.port,
        state: state.isRetired ? "retired" : server.listening ? "listening" : "waiting",
        listenError,
        requests: state.requests,
        run: state.run,
        answered: state.answered(),
        connections: await new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count))),
        inFlight: state.upstreams.inFlight(),
      };
    },
  };
}

function createServer(state: ProxyState, limits: ProxyLimits): Server {
  const headersMs = limits.headersSeconds * 1000;
  const server = http.createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: headersMs,
    connectionsCheckingInterval: Math.min(HEADERS_CHECK_MS_MAX, headersMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // No limit for large uploads; `timeout` ends those that stall.
    requestTimeout: 0,
    shouldUpgradeCallback: isUpgrade,
  });
  server.timeout = limits.stallSeconds * 1000;
  server.maxHeadersCount = 0; // Unlimited, since Node drops excess headers silently; their size is limited.
  server.maxConnections = Math.min(limits.connections, Math.floor((openFilesMax() - FILES_OF_OUR_OWN) / 2));
  server.on("request", (request, response) => forward(state, request, response));
  server.on("checkContinue", (request, response) => forward(state, request, response));
  server.on("upgrade", (request, socket, head) => {
    // Typed as any stream, because a server can be given other streams.
    if (socket instanceof net.Socket) upgrade(state, request, socket, head);
  });
  return server;
}

const FILES_OF_OUR_OWN = 64; // Standard streams, the event loop's and the control plane's connections, rounded up.

/** Node raises the limit as far as allowed. A connection needs two files: the client's and the upstream's. */
function openFilesMax(): number {
  const [, limit] = /^Max open files +(\d+)/m.exec(fs.readFileSync("/proc/self/limits", "utf8")) ?? [];
  return limit === undefined ? 1024 : Number(limit);
}

/** Irreversible: afterwards the process can only serve what it has open. */
function becomeUser({ uid, gid }: { readonly uid: number; readonly gid: number }): void {
  process.setgroups?.([gid]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
