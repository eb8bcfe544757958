import { isIP, type Socket } from "node:net";
import { refuseConnection } from "@berth/api";
import { DomainError } from "@berth/core";
import { addressRanges } from "@berth/host";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

export interface ClientBounds {
  /** Addresses and ranges of proxies in front, whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies?: readonly string[];
  /** Concurrent connections of one address; 0: unlimited. Those of trusted proxies are not limited. */
  readonly connectionsPerAddress?: number;
  /** Time in which a body other than an upload must arrive. Default: 60. */
  readonly bodySecondsMax?: number;
  /** How long an unread body is drained before the connection is closed. Default: 5. */
  readonly lingerSecondsMax?: number;
}

/** Limits each client's connections, the time for a body, and the draining of an unread one. */
export function boundClients(app: FastifyInstance, bounds: ClientBounds): void {
  const { bodySecondsMax = 60, lingerSecondsMax = 5 } = bounds;
  boundConnections(app, bounds);
  app.addHook("onRequest", async (request, reply) => {
    const isUpload = request.routeOptions.config.route?.body === "upload";
    if (hasBody(request) && !isUpload) boundBody(request, reply, bodySecondsMax);
  });
  app.addHook("onResponse", async (request) => {
    const { raw } = request;
    if (!hasBody(request) || raw.complete || raw.destroyed) return;
    // Node drains the body to reuse the connection; if the client continues for too long, it is disconnected.
    const timer = setTimeout(() => raw.destroy(), lingerSecondsMax * 1000).unref();
    raw.once("close", () => clearTimeout(timer)).once("end", () => clearTimeout(timer));
  });
}

const hasBody = ({ headers }: FastifyRequest) =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

function boundBody({ raw }: FastifyRequest, reply: FastifyReply, secondsMax: number): void {
  const timer = setTimeout(() => {
    if (raw.complete || reply.raw.headersSent) return;
    refuseConnection(raw.socket, "408 Request Timeout", late(secondsMax));
    raw.destroy();
  }, secondsMax * 1000).unref();
  raw.once("end", () => clearTimeout(timer));
  reply.raw.once("close", () => clearTimeout(timer));
}

const late = (secondsMax: number) =>
  new DomainError("request.malformed", "Invalid request.", {
    details: { error: `The body did not come within ${secondsMax} seconds.` },
  });

function boundConnections(app: FastifyInstance, { connectionsPerAddress = 0, trustedProxies = [] }: ClientBounds) {
  if (connectionsPerAddress === 0) return;
  const isProxy = addressRanges(trustedProxies);
  const open = new Map<string, number>();
  app.server.on("connection", (socket: Socket) => {
    const { remoteAddress: address = "" } = socket;
    if (isProxy(address)) return;
    const client = clientOf(address);
    const count = (open.get(client) ?? 0) + 1;
    open.set(client, count);
    socket.once("close", () => {
      const left = (open.get(client) ?? 1) - 1;
      if (left === 0) open.delete(client);
      else open.set(client, left);
    });
    if (count <= connectionsPerAddress) return;
    const message =
      `Limit reached: at most ${connectionsPerAddress} connections of one address. ` +
      "Close some, or let the operator raise BERTH_CONNECTIONS_PER_ADDRESS.";
    refuseConnection(socket, "429 Too Many Requests", new DomainError("rate.limited", message));
    socket.destroySoon();
  });
}

/** An IPv6 client usually has a whole /64 network. */
const clientOf = (address: string): string =>
  isIP(address) === 6 && !address.startsWith("::ffff:") ? address.split(":").slice(0, 4).join(":") : address;
