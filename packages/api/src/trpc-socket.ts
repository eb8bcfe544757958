import type { Scope } from "@berth/core/team";
import type { WebSocket } from "@fastify/websocket";
import type { AnyRouter } from "@trpc/server";
import { getWSConnectionHandler } from "@trpc/server/adapters/ws";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { problemOf } from "./errors.ts";
import type { OpenCall } from "./open-calls.ts";
import type { RestOptions } from "./rest/plugin.ts";
import type { RequestContext, SocketCaller } from "./trpc.ts";

/** For `@fastify/websocket`, which is registered once. Messages of subscriptions are short. */
export const SOCKET_OPTIONS = { options: { maxPayload: 65_536 } } as const;

/** Whether Node passes a request on as a WebSocket. Other upgrades, such as to h2c, are ignored. */
export const isSocketRequest = ({
  headers,
  url = "",
}: {
  headers: FastifyRequest["headers"];
  url?: string | undefined;
}) => headers.upgrade?.toLowerCase() === "websocket" && /^\/(trpc|terminal)\/?(\?|$)/.test(url);

type SocketOptions = Pick<RestOptions, "admission" | "controlFor" | "signIns" | "browsers" | "onFault">;

/** Closed without a subscription after this time. A page opens another one when it needs it. */
const IDLE_SECONDS_MAX = 60;
/** Limit of bytes that a client has not received yet. */
const BUFFERED_BYTES_MAX = 16_777_216;
const CHECK_SECONDS = 5;

/** Subscriptions over one WebSocket at the prefix itself. Everything else uses HTTP. */
export function trpcSocket(app: FastifyInstance, router: AnyRouter, options: SocketOptions): void {
  const { browsers, onFault } = options;
  const refuseForeign = async (request: FastifyRequest, reply: FastifyReply) => {
    if (!browsers.isForeignSocket(request)) return;
    const message = "A page of another origin may not open a WebSocket here.";
    await reply.code(403).send({ message, code: "auth.foreign_page", request_id: request.id });
  };
  app.get("/", { websocket: true, onRequest: refuseForeign }, (socket, request) => {
    const connection = openConnection(socket, options);
    const serve = getWSConnectionHandler({
      router,
      wss: app.websocketServer,
      maxBatchSize: BATCH_MAX,
      keepAlive: { enabled: true, pingMs: 30_000, pongWaitMs: 10_000 },
      createContext: async ({ info }) => contextOf(request, info.connectionParams?.session_key, options, connection),
      onError({ error, path }) {
        if (!isOfConnection(error.cause) && problemOf(error, request.id).status >= 500)
          onFault(error, { id: request.id, operation: path });
      },
    });
    serve(socket, request.raw);
  });
}

const BATCH_MAX = 50;

/** Errors of a client or its connection: invalid frames, too long messages, a lost connection. */
const isOfConnection = (cause: (Error & { readonly code?: unknown }) | undefined): boolean =>
  /^(WS_ERR_|ECONNRESET$|EPIPE$)/.test(String(cause?.code));

interface Connection {
  readonly signal: AbortSignal;
  enter(kind: OpenCall, scope: Scope): () => void;
}

/** Counts the subscriptions of a connection, and closes it if it has none, or if its client stops reading. */
function openConnection(socket: WebSocket, { admission }: SocketOptions): Connection {
  const gone = new AbortController();
  const leaving = new Set<() => void>();
  let idleSince = performance.now();
  const watch = setInterval(() => {
    if (socket.bufferedAmount > BUFFERED_BYTES_MAX) socket.terminate();
    if (leaving.size === 0 && performance.now() - idleSince > IDLE_SECONDS_MAX * 1000) socket.close(1000, "idle");
  }, CHECK_SECONDS * 1000);
  socket.once("close", () => {
    clearInterval(watch);
    gone.abort();
    for (const leave of [...leaving]) leave();
  });
  return {
    signal: gone.signal,
    enter(kind, scope) {
      const end = admission.enter(kind, scope);
      const leave = () => {
        end();
        leaving.delete(leave);
        idleSince = performance.now();
      };
      leaving.add(leave);
      return leave;
    },
  };
}

function contextOf(
  request: FastifyRequest,
  key: unknown,
  { admission, browsers, controlFor, signIns }: SocketOptions,
  { signal, enter }: Connection,
): RequestContext {
  const caller = {
    authorization: request.headers.authorization,
    session: browsers.session(request, typeof key === "string" ? key : undefined),
    ip: request.ip,
    calls: 1,
    setHeader: () => undefined,
  };
  const socket: SocketCaller = { identify: () => admission.identify(caller) };
  return {
    requestId: request.id,
    scope: undefined,
    isApiEnabled: true,
    controlFor,
    limitReads: undefined,
    signIns,
    browser: undefined,
    signal,
    enter,
    socket,
  };
}
