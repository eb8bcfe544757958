import {
  admission,
  appRouter,
  browsers,
  type Control,
  isSocketRequest,
  restPlugin,
  SOCKET_OPTIONS,
  serverOptions,
  terminalSocket,
  trpcPlugin,
  type WebhookOptions,
  webhookPlugin,
  withholdBodies,
} from "@berth/api";
import type { SignIns } from "@berth/control";
import { DomainError } from "@berth/core";
import type { Authenticator, LimitReads } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import fastifyCors from "@fastify/cors";
import fastifyWebsocket from "@fastify/websocket";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { faultLog } from "./fault-log.ts";
import { boundClients, type ClientBounds } from "./http/client-bounds.ts";
import { dashboard } from "./http/dashboard.ts";
import { descriptionPlugin } from "./http/description.ts";
import { docsPlugin } from "./http/docs.ts";
import type { Logger } from "./logger.ts";
import { type Readiness, readinessRoute } from "./readiness.ts";

export interface HttpOptions extends ClientBounds {
  readonly controlFor: (scope: Scope) => Control;
  readonly limitReads: LimitReads;
  readonly signIns: SignIns;
  readonly authenticator: Authenticator;
  /** URL of the dashboard, if a proxy is in front of it. */
  readonly publicUrl?: string | null;
  readonly webhooks: WebhookOptions["webhooks"];
  /** Requests per minute for each token, or for each address without a token. 0: unlimited. */
  readonly requestsPerMinute: number;
  /** A terminal ends when nothing was typed for so long. Default: one hour. 0: never. */
  readonly terminalIdleMinutes?: number;
  readonly log: Pick<Logger, "error">;
  readonly readiness: Pick<Readiness, "report">;
  readonly now?: () => Date;
  /** Seconds that `close()` waits for pending answers. */
  readonly closeGraceSeconds?: number;
}

/**
 * Serves REST at `/api/v1`, tRPC at `/trpc`, webhooks of git hosts at `/webhooks`, health at `/api/health`, readiness
 * at `/health/ready`, the OpenAPI description, its interactive documentation at `/docs`, and the dashboard at all
 * other paths. `close()` accepts no more requests, ends event streams (clients resume them elsewhere) and waits for
 * answers.
 */
export function httpServer(options: HttpOptions): FastifyInstance {
  const { authenticator, requestsPerMinute, controlFor, log, now = () => new Date() } = options;
  const app = Fastify({
    ...serverOptions,
    bodyLimit: BODY_LIMIT_BYTES,
    trustProxy: options.trustedProxies?.length ? [...options.trustedProxies] : false,
    // Longer than the usual 60 seconds of load balancers, so that they close idle connections first.
    keepAliveTimeout: 72_000,
    http: {
      headersTimeout: HEADERS_MS_MAX,
      connectionsCheckingInterval: HEADERS_MS_MAX / 4,
      shouldUpgradeCallback: isSocketRequest,
    },
    // Long enough for uploads over slow connections; other bodies have less time (`boundClients`).
    requestTimeout: 3_600_000,
    // While the server closes, requests on open connections are still answered.
    return503OnClosing: false,
    forceCloseConnections: "idle",
  });
  const shared = {
    router: appRouter,
    controlFor,
    limitReads: options.limitReads,
    signIns: options.signIns,
    browsers: browsers(options.publicUrl ?? null),
    admission: admission({ authenticator, requestsPerMinute, now }),
    onFault: faultLog(log),
  };

  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ "x-request-id": request.id, ...SECURITY_HEADERS });
  });
  boundClients(app, options);
  app.register(fastifyWebsocket, SOCKET_OPTIONS);
  // Bodies of unknown routes are not read, since no parser is registered.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _body, parsed) => parsed(null));
  withholdBodies(app, ({ is404 }) => is404);
  closeGracefully(app, options.closeGraceSeconds ?? 10);
  const page = dashboard(app);
  app.setNotFoundHandler((request, reply) => {
    if (page?.serves(request)) return page.send(reply);
    const body = { message: "Not found.", code: "request.not_found", request_id: request.id, docs: DOCS_URL };
    return reply.code(404).send(body);
  });
  app.register(
    (api, _options, done) => {
      api.register(fastifyCors, CORS);
      readinessRoute(api, "/health/ready", options.readiness);
      api.get("/health", (_request, reply) => reply.type("text/plain; charset=utf-8").send("OK"));
      api.register(descriptionPlugin, { prefix: "/v1" });
      const rest = { ...shared, bodyLimit: BODY_LIMIT_BYTES, pingSeconds: PING_SECONDS, docsUrl: DOCS_URL };
      api.register(restPlugin, { prefix: "/v1", ...rest });
      done();
    },
    { prefix: "/api" },
  );
  app.register(
    (trpc, _options, done) => {
      trpc.register(fastifyCors, CORS);
      trpc.register(trpcPlugin, shared);
      done();
    },
    { prefix: "/trpc" },
  );
  const { terminalIdleMinutes: idleMinutes } = options;
  const times = idleMinutes === undefined ? {} : { idleSeconds: idleMinutes * 60 };
  app.register(terminalSocket, { prefix: "/terminal", ...shared, times });
  app.register(webhookPlugin, { prefix: "/webhooks", ...shared, webhooks: options.webhooks });
  readinessRoute(app, "/health/ready", options.readiness);
  app.register(docsPlugin, { hasStartPage: page === undefined });
  return app;
}

/**
 * @returns The address, e.g. `http://127.0.0.1:8000`; port 0 selects a free port.
 * @throws DomainError `setup.failed` with the reason
 */
export async function listen(app: FastifyInstance, { host, port }: { host: string; port: number }): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (cause) {
    // Node's socket errors have a code.
    const obstacle = OBSTACLES[(cause as { code?: string }).code ?? ""];
    if (!obstacle) throw cause;
    throw new DomainError("setup.failed", obstacle(host, port), { cause });
  }
}

const OBSTACLES: Readonly<Record<string, (host: string, port: number) => string>> = {
  EADDRINUSE: (_host, port) => `Port ${port} is in use. Stop what listens there or set BERTH_PORT to another.`,
  EACCES: (_host, port) => `Port ${port} needs privileges that this user lacks. Set BERTH_PORT to one above 1023.`,
  EADDRNOTAVAIL: (host) =>
    `${host} is not an address of this machine. Set BERTH_HOST to one of its addresses, or to 0.0.0.0.`,
  ENOTFOUND: (host) => `${host} is not an address. Set BERTH_HOST to an address of this machine, or to 0.0.0.0.`,
};

/** Event streams never end by themselves, so they are closed like a lost connection, and clients resume them. */
function closeGracefully(app: FastifyInstance, graceSeconds: number): void {
  const underWay = new Set<FastifyReply>();
  app.addHook("onRequest", async (_request, reply) => void underWay.add(reply));
  app.addHook("onResponse", async (_request, reply) => void underWay.delete(reply));
  app.addHook("preClose", async () => {
    for (const reply of underWay) {
      if (String(reply.getHeader("content-type")).startsWith("text/event-stream")) reply.raw.destroy();
      // Otherwise the connection would stay open after the answer, and delay the close.
      else if (!reply.raw.headersSent) reply.header("connection", "close");
    }
    const timer = setTimeout(() => app.server.closeAllConnections(), graceSeconds * 1000);
    app.server.once("close", () => clearTimeout(timer));
  });
}

const HEADERS_MS_MAX = 20_000;
const BODY_LIMIT_BYTES = 1_048_576;
const PING_SECONDS = 15; // Half of the shortest usual idle timeout of proxies.
const DOCS_URL = "/docs";

/** By default answers must not run anything in a browser; routes can allow more. */
const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
};

/** Any origin is allowed: access depends on the token, which browsers do not send by themselves. */
const CORS = {
  origin: "*",
  methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
  exposedHeaders: [
    ...["X-Request-Id", "X-Total-Count", "Link", "Retry-After"],
    ...["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"],
  ],
  maxAge: 86_400,
  strictPreflight: false,
};
