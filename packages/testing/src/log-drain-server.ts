import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";

export interface ReceivedLine {
  readonly service: "newrelic" | "axiom" | "loki" | "http";
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

export interface DrainAnswer {
  readonly status: number;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** New Relic's Log API, Axiom's ingest API, Loki, and any endpoint for JSON, on the loopback, with their documented shapes. */
export interface LogDrainServer {
  readonly url: string;
  readonly port: number;
  /** All lines that were accepted, in order. */
  readonly lines: readonly ReceivedLine[];
  /** Texts of the accepted lines. */
  texts(): readonly string[];
  /** All requests, in order. */
  readonly requests: readonly ReceivedRequest[];
  /** What is answered in place of the service's own answer, as long as it is set. */
  fault: ((request: { readonly lines: readonly ReceivedLine[] }) => DrainAnswer | undefined) | undefined;
  close(): Promise<void>;
}

export const DRAIN_LOGIN = { newrelic_license_key: "eu01xxNRAL-license", axiom_api_key: "xaat-1234-5678" } as const;
export const DRAIN_DATASET = "shop-logs";
const BYTES_MAX = 1_000_000;

export async function logDrainServer(): Promise<LogDrainServer> {
  const lines: ReceivedLine[] = [];
  const requests: LogDrainServer["requests"][number][] = [];
  const server = createServer(async (request, response) => {
    const sent = await buffer(request);
    const path = request.url ?? "";
    const found = readRequest(path, request.headers, sent);
    requests.push({ headers: request.headers, path });
    const fault = own.fault?.(found);
    const { status, body, headers = {} } = fault ?? found.answer;
    if (fault === undefined && status < 300) lines.push(...found.lines);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
  const own: LogDrainServer = {
    ...{ port, lines, requests, fault: undefined, url: `http://127.0.0.1:${port}` },
    texts: () => lines.map(({ text }) => text),
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return own;
}

interface ReadRequest {
  readonly lines: readonly ReceivedLine[];
  readonly answer: DrainAnswer;
}

const refused = (status: number, message: string): ReadRequest => ({
  lines: [],
  answer: { status, body: { message } },
});

function readRequest(path: string, headers: IncomingMessage["headers"], sent: Buffer): ReadRequest {
  if (sent.length > BYTES_MAX) return refused(413, "Payload Too Large");
  const isGzip = headers["content-encoding"] === "gzip";
  const text = (isGzip ? gunzipSync(sent) : sent).toString("utf8");
  if (headers["content-type"] !== "application/json") return refused(415, "Unsupported Media Type");
  if (path === "/log/v1") {
    if (headers["api-key"] !== DRAIN_LOGIN.newrelic_license_key) return refused(403, "Invalid license key");
    return newRelic(JSON.parse(text));
  }
  if (path.startsWith("/v1/datasets/")) {
    if (headers.authorization !== `Bearer ${DRAIN_LOGIN.axiom_api_key}`) return refused(403, "forbidden");
    return path === `/v1/datasets/${DRAIN_DATASET}/ingest`
      ? axiom(JSON.parse(text))
      : refused(404, "dataset not found");
  }
  if (path === "/loki/api/v1/push") return loki(JSON.parse(text));
  return records(text);
}

/** @throws Error that fails the request, for a shape that New Relic does not document */
function newRelic(blocks: unknown): ReadRequest {
  const lines = list(blocks).flatMap((block) =>
    list(field(block, "logs")).map((log) => {
      const [timestamp, message] = [field(log, "timestamp"), field(log, "message")];
      if (typeof timestamp !== "number" || timestamp < 1e12 || typeof message !== "string") throw wrong(log);
      const attributes = {
        ...Object(field(field(block, "common"), "attributes")),
        ...Object(field(log, "attributes")),
      };
      return { service: "newrelic" as const, text: message, fields: { timestamp, ...attributes } };
    }),
  );
  return { lines, answer: { status: 202, body: { requestId: "8f3b1c2a-0000-b000-0000-018f00000000" } } };
}

function axiom(events: unknown): ReadRequest {
  const lines = list(events).map((event) => {
    const [time, message] = [field(event, "_time"), field(event, "message")];
    if (typeof time !== "string" || Number.isNaN(Date.parse(time)) || typeof message !== "string") throw wrong(event);
    return { service: "axiom" as const, text: message, fields: Object(event) };
  });
  const body = { ingested: lines.length, failed: 0, failures: [], processedBytes: 1, blocksCreated: 0, walLength: 1 };
  return { lines, answer: { status: 200, body } };
}

function loki(push: unknown): ReadRequest {
  const lines = list(field(push, "streams")).flatMap((stream) =>
    list(field(stream, "values")).map((value) => {
      const [nanoseconds, text] = list(value);
      if (!/^\d{19}$/.test(String(nanoseconds)) || typeof text !== "string") throw wrong(value);
      return { service: "loki" as const, text, fields: { nanoseconds, ...Object(field(stream, "stream")) } };
    }),
  );
  return { lines, answer: { status: 204 } };
}

function records(text: string): ReadRequest {
  const found = text.startsWith("[") ? list(JSON.parse(text)) : text.split("\n").map((line) => JSON.parse(line));
  const lines = found.map((record) => ({
    service: "http" as const,
    text: String(field(record, "log")),
    fields: Object(record),
  }));
  return { lines, answer: { status: 200 } };
}

const wrong = (value: unknown) => new Error(`This is not what the service documents: ${JSON.stringify(value)}`);

function list(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw wrong(value);
}

const field = (value: unknown, name: string): unknown => Object(value)[name];
