import type { IncomingMessage } from "node:http";
import { withoutSession } from "./session-cookie.ts";
import { hostPort } from "./table.ts";
import { isOwnMachine, plainAddress } from "./trusted.ts";

/** Name, value, name, value: Node's form that preserves order, case and repetition. */
export type RawHeaders = string[];

export interface ForwardedOptions {
  /** Whether the client is a trusted proxy, whose headers about its own client are passed on. */
  readonly trustsForwarded: boolean;
  readonly requestId: string;
  /** Prefix that was removed from the path. */
  readonly prefix: string;
}

/**
 * Headers of a request to an upstream: end-to-end headers unchanged, including `Host`, plus those about the client.
 * Hop-by-hop headers are dropped, except for an upgrade to the protocol `upgrade`.
 */
export function upstreamHeaders(request: IncomingMessage, options: ForwardedOptions, upgrade?: string): RawHeaders {
  const { headers } = request;
  const named = connectionNames(headers.connection);
  const kept = keepHeaders(request.rawHeaders, (name) => {
    if (HOP_BY_HOP.has(name) || name === "x-request-id" || named?.has(name)) return false;
    if (name === "transfer-encoding") return true; // Indicates a body; Node chunks it again.
    return options.trustsForwarded ? !isReplaced(name) : !isForwarded(name);
  });
  if (headers.cookie?.includes("berth_session")) hideSession(kept);
  addForwarded(kept, request, options);
  kept.push("X-Request-Id", options.requestId);
  if (upgrade !== undefined) kept.push("Connection", "Upgrade", "Upgrade", upgrade);
  else if (takesTrailers(headers.te)) kept.push("TE", "trailers", "Connection", "keep-alive, TE");
  if (lacksLength(request)) kept.push("Content-Length", "0");
  return kept;
}

/** Headers of an upstream's response to a client, without hop-by-hop and framing headers, which Node writes itself. */
export function clientHeaders(response: IncomingMessage, requestId: string, keepsTrailer: boolean): RawHeaders {
  const { headers } = response;
  const named = connectionNames(headers.connection);
  const isChunked = headers["transfer-encoding"] !== undefined;
  const kept = keepHeaders(response.rawHeaders, (name) => {
    if (name === "trailer") return keepsTrailer;
    if (name === "content-length" && isChunked) return false;
    return !HOP_BY_HOP.has(name) && name !== "transfer-encoding" && !named?.has(name);
  });
  if (headers["x-request-id"] === undefined) kept.push("X-Request-Id", requestId);
  return kept;
}

/** Header for answers of unlisted routes. */
export const UNLISTED_HEADER = ["X-Robots-Tag", "noindex, nofollow"] as const;

/** Replaces all occurrences of a header. */
export function replaceHeader(headers: RawHeaders, [name, value]: readonly [name: string, value: string]): void {
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (headers[at]?.toLowerCase() === name.toLowerCase()) headers.splice(at, 2);
  }
  headers.push(name, value);
}

/** Headers of an upstream's 101. Those of the upgrade stay, since both connections now speak the other protocol. */
export function upgradeHeaders(response: IncomingMessage): RawHeaders {
  return keepHeaders(response.rawHeaders, (name) => !UNUSED_IN_UPGRADE.has(name));
}

/** Whether a message has a body, by its framing headers. */
export function hasBody(message: IncomingMessage): boolean {
  const length = message.headers["content-length"];
  return message.headers["transfer-encoding"] !== undefined || (length !== undefined && Number(length) > 0);
}

/** Only `chunked` is decoded here; another coding would be passed on without being declared. */
export function isFramedPlainly(message: IncomingMessage): boolean {
  const coding = message.headers["transfer-encoding"];
  return coding === undefined || coding.trim().toLowerCase() === "chunked";
}

export function countHeader(rawHeaders: readonly string[], wanted: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === wanted) count++;
  }
  return count;
}

/** The client's own request id if it is a plain word, else `undefined`. */
export function givenRequestId(request: IncomingMessage): string | undefined {
  const id = request.headers["x-request-id"];
  return typeof id === "string" && /^[\w.:=+/-]{1,128}$/.test(id) ? id : undefined;
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "upgrade",
  "http2-settings",
]);

const UNUSED_IN_UPGRADE: ReadonlySet<string> = new Set(["keep-alive", "proxy-connection", "transfer-encoding"]);

/** Headers about the client, set by this proxy. Applications trust them, so clients must not be able to send them. */
const FORWARDED: ReadonlySet<string> = new Set([
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-forwarded-protocol",
  "x-forwarded-scheme",
  "x-forwarded-server",
  "x-forwarded-ssl",
  "x-real-ip",
  "x-scheme",
  "x-url-scheme",
]);

/** CGI-like applications (PHP, WSGI, Rack) treat `X_Real_IP` and `X-Real-IP` as one header. */
function isForwarded(name: string): boolean {
  return FORWARDED.has(name.includes("_") ? name.replaceAll("_", "-") : name);
}

/** Dropped even from trusted proxies: headers that are appended to, and spellings that proxies pass on unchecked. */
function isReplaced(name: string): boolean {
  return name === "x-forwarded-for" || name === "x-forwarded-prefix" || (name.includes("_") && isForwarded(name));
}

function addForwarded(kept: RawHeaders, request: IncomingMessage, options: ForwardedOptions): void {
  const { headers } = request;
  const prefix = `${options.trustsForwarded ? (headers["x-forwarded-prefix"] ?? "") : ""}${options.prefix}`;
  if (prefix !== "") kept.push("X-Forwarded-Prefix", prefix);
  const client = plainAddress(request.socket.remoteAddress ?? "");
  const host = headers.host ?? "";
  const port = hostPort(host).slice(1) || "80";
  if (!options.trustsForwarded) {
    kept.push("X-Forwarded-For", client, "X-Forwarded-Proto", "http", "X-Forwarded-Host", host);
    kept.push("X-Forwarded-Port", port, "X-Real-IP", client);
    return;
  }
  const before = headers["x-forwarded-for"];
  // The machine's own front proxy has named its client, and is not a hop that an application knows.
  const way = before === undefined || before === "" ? [client] : isOwnMachine(request) ? [before] : [before, client];
  kept.push("X-Forwarded-For", way.join(", "));
  if (headers["x-forwarded-proto"] === undefined) kept.push("X-Forwarded-Proto", "http");
  if (headers["x-forwarded-host"] === undefined) kept.push("X-Forwarded-Host", host);
  if (headers["x-forwarded-port"] === undefined) kept.push("X-Forwarded-Port", port);
  if (headers["x-real-ip"] === undefined) kept.push("X-Real-IP", client);
}

function keepHeaders(raw: readonly string[], isKept: (name: string) => boolean): RawHeaders {
  const kept: RawHeaders = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? "";
    if (isKept(name.toLowerCase())) kept.push(name, raw[index + 1] ?? "");
  }
  return kept;
}

function hideSession(kept: RawHeaders): void {
  for (let index = kept.length - 2; index >= 0; index -= 2) {
    if (kept[index]?.toLowerCase() !== "cookie") continue;
    const cookies = withoutSession(kept[index + 1] ?? "");
    if (cookies === "") kept.splice(index, 2);
    else kept[index + 1] = cookies;
  }
}

/** Headers that `Connection` declares as hop-by-hop, except those needed to read the message. */
function connectionNames(connection: string | undefined): ReadonlySet<string> | undefined {
  if (connection === undefined || PLAIN_CONNECTION.test(connection)) return undefined;
  const names = new Set(connection.toLowerCase().split(/[\s,]+/));
  for (const name of ["host", "content-length", "transfer-encoding"]) names.delete(name);
  return names;
}

const PLAIN_CONNECTION = /^(keep-alive|close|upgrade)$/i;

function takesTrailers(te: string | string[] | undefined): boolean {
  return typeof te === "string" && /(^|[\s,])trailers($|[\s,;])/i.test(te);
}

/** Otherwise Node would announce a chunked body for a POST without one. */
function lacksLength(request: IncomingMessage): boolean {
  if (request.method === "GET" || request.method === "HEAD") return false;
  return request.headers["content-length"] === undefined && request.headers["transfer-encoding"] === undefined;
}
