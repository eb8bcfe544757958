import {
  type ClientHttp2Session,
  constants,
  type Http2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Codec } from "./messages.ts";

/** A method of a gRPC service. https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
export interface Method<Request, Response> {
  /** Path of the request: `/package.Service/Method` */
  readonly path: string;
  readonly request: Codec<Request>;
  readonly response: Codec<Response>;
}

export class GrpcError extends Error {
  override name = "GrpcError";
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** The stream ended without a status, so the result of the call is unknown. */
export class BrokenOff extends Error {
  override name = "BrokenOff";
}

export const GRPC_CODES = { ok: 0, notFound: 5, unimplemented: 12, internal: 13 } as const;

/**
 * Calls a method and yields each answer. Aborting cancels the call on the server.
 * @throws GrpcError with the server's message, or `BrokenOff`
 */
export async function* call<Request, Response>(
  session: ClientHttp2Session,
  { path, request, response }: Method<Request, Response>,
  message: Request,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<Response, void> {
  signal.throwIfAborted();
  const stream = session.request({
    ...headers,
    ":method": "POST",
    ":path": path,
    "content-type": CONTENT_TYPE,
    te: "trailers",
  });
  let ending: IncomingHttpHeaders = {};
  stream.on("response", (headers) => {
    ending = { ...ending, ...headers };
  });
  stream.on("trailers", (headers) => {
    ending = { ...ending, ...headers };
  });
  const onAbort = () => stream.close(constants.NGHTTP2_CANCEL);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    stream.end(framed(request.encode(message)));
    for await (const bytes of messagesOf(stream)) yield response.decode(bytes);
  } catch (cause) {
    // A status in the trailers is more precise than the error of the stream.
    if (ending["grpc-status"] === undefined) throw brokenOff(cause);
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
  }
  const status = ending["grpc-status"];
  if (status === undefined) throw brokenOff(undefined);
  if (Number(status) !== GRPC_CODES.ok)
    throw new GrpcError(Number(status), decoded(String(ending["grpc-message"] ?? "")));
}

const brokenOff = (cause: unknown): BrokenOff =>
  new BrokenOff(cause instanceof Error ? cause.message : "The connection broke off.", { cause });

/** A call to answer: reads and writes messages, and ends with a status. */
export interface ServerCall<Request, Response> {
  /** All values of a header, in their order. */
  header(name: string): readonly string[];
  readonly requests: AsyncIterable<Request>;
  /** Resolves when more can be written. Rejects when the client has disconnected. */
  write(message: Response): Promise<void>;
}

export interface Handler {
  readonly path: string;
  /** @throws BrokenOff after a damaged request, which was answered with a failure */
  handle(stream: ServerHttp2Stream, rawHeaders: readonly string[]): Promise<void>;
}

/** A thrown `GrpcError` becomes the status of the answer. */
export function handler<Request, Response>(
  { path, request, response }: Method<Request, Response>,
  answer: (call: ServerCall<Request, Response>) => Promise<void>,
): Handler {
  return {
    path,
    async handle(stream, rawHeaders) {
      begin(stream);
      try {
        await answer({
          header: (name) => valuesOf(rawHeaders, name),
          requests: mapped(messagesOf(stream), (bytes) => decodedBy(request, bytes)),
          write: (message) => written(stream, framed(response.encode(message))),
        });
        end(stream, GRPC_CODES.ok, "");
      } catch (cause) {
        if (cause instanceof GrpcError) end(stream, cause.code, cause.message);
        else end(stream, GRPC_CODES.internal, cause instanceof Error ? cause.message : "failed");
        if (cause instanceof BrokenOff) throw cause;
      }
    },
  };
}

function decodedBy<Message>(codec: Codec<Message>, bytes: Buffer): Message {
  try {
    return codec.decode(bytes);
  } catch (cause) {
    throw new BrokenOff("The engine sent a damaged request.", { cause });
  }
}

/** A method with one request and one answer. */
export const unary = <Request, Response>(
  method: Method<Request, Response>,
  answer: (request: Request) => Response,
): Handler =>
  handler(method, async ({ requests, write }) => {
    for await (const request of requests) return await write(answer(request));
  });

export function refuse(stream: ServerHttp2Stream): void {
  begin(stream);
  end(stream, GRPC_CODES.unimplemented, "unknown method");
}

const statuses = new WeakMap<ServerHttp2Stream, Readonly<Record<string, string>>>();

function begin(stream: ServerHttp2Stream): void {
  stream.on("error", () => undefined);
  stream.on("wantTrailers", () => stream.sendTrailers(statuses.get(stream) ?? {}));
  stream.respond({ ":status": 200, "content-type": CONTENT_TYPE }, { waitForTrailers: true });
}

function end(stream: ServerHttp2Stream, code: number, message: string): void {
  if (stream.destroyed) return;
  statuses.set(stream, { "grpc-status": String(code), "grpc-message": encodeURIComponent(message) });
  stream.end();
}

function written(stream: ServerHttp2Stream, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
}

/** Node joins repeated headers with commas, which may also occur in values. */
function valuesOf(rawHeaders: readonly string[], wanted: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === wanted);
}

async function* mapped<A, B>(items: AsyncIterable<A>, map: (item: A) => B): AsyncGenerator<B, void> {
  for await (const item of items) yield map(item);
}

function framed(message: Uint8Array): Buffer {
  const frame = Buffer.alloc(PREFIX_BYTES + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, PREFIX_BYTES);
  return frame;
}

async function* messagesOf(stream: Http2Stream): AsyncGenerator<Buffer, void> {
  let chunks: Buffer[] = [];
  let size = 0;
  let wanted = PREFIX_BYTES;
  // Writing may continue after the reader stops early.
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    // Chunks are joined only once per message, however many there are.
    if (size < wanted) continue;
    let held = Buffer.concat(chunks);
    for (;;) {
      wanted = PREFIX_BYTES;
      if (held.length < wanted) break;
      wanted += held.readUInt32BE(1);
      if (wanted > MESSAGE_BYTES_MAX) throw new BrokenOff("A message is longer than any that BuildKit sends.");
      if (held.length < wanted) break;
      yield held.subarray(PREFIX_BYTES, wanted);
      held = held.subarray(wanted);
    }
    chunks = [held];
    size = held.length;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const CONTENT_TYPE = "application/grpc";
const PREFIX_BYTES = 5; // One byte for compression, which we never offer, and four for the length.
const MESSAGE_BYTES_MAX = 16 << 20; // BuildKit's own limit.
