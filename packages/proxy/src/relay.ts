import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { clientHeaders, hasBody, isFramedPlainly, replaceHeader, UNLISTED_HEADER } from "./headers.ts";

/**
 * Streams a client's body, with trailers, to the upstream, as fast as the upstream reads.
 * @param socket The connection to the upstream.
 */
export function relayBody(request: IncomingMessage, sent: ClientRequest, socket: Socket): void {
  request.pipe(sent, { end: false });
  request.once("end", () => {
    const trailers = pairs(request.rawTrailers);
    if (trailers.length > 0 && request.headers["transfer-encoding"] !== undefined) sent.addTrailers(trailers);
    sent.end();
  });
  // Node stops emitting `drain` once the answer has ended, which may be long before the body has.
  const onDrain = () => sent.emit("drain");
  socket.on("drain", onDrain);
  sent.once("close", () => {
    socket.off("drain", onDrain);
    if (request.readableEnded) return;
    // The rest of the body must be read before the client's next request on this connection.
    request.unpipe(sent);
    request.resume();
  });
  // The body may come late or never (100-continue), so the head is sent without waiting for it.
  if (request.readableLength === 0) sent.flushHeaders();
}

interface AnswerHeaders {
  readonly requestId: string;
  readonly isUnlisted: boolean;
}

/**
 * Streams an upstream's answer to the client, as it arrives and as fast as the client reads.
 * @returns `false` when the answer cannot be passed on; nothing has been written then.
 */
export function relayAnswer(
  answer: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
  { requestId, isUnlisted }: AnswerHeaders,
): boolean {
  const takesTrailers = hasTrailers(answer, request);
  // A 101 without upgrade headers arrives here; the client would wait for another answer after it.
  if (!isFramedPlainly(answer) || answer.statusCode === 101) return false;
  try {
    const headers = clientHeaders(answer, requestId, takesTrailers);
    if (isUnlisted) replaceHeader(headers, UNLISTED_HEADER);
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers);
  } catch {
    // Node reads some values that it refuses to write, such as a status of 999 or more, or control characters in a
    // header.
    return false;
  }
  let isBodyWritten = false;
  answer.on("data", (chunk: Buffer) => {
    isBodyWritten = true;
    if (!response.write(chunk, freeing(chunk))) answer.pause();
  });
  response.on("drain", () => answer.resume());
  answer.once("end", () => {
    isBodyWritten = true;
    if (takesTrailers) response.addTrailers(pairs(answer.rawTrailers));
    response.end();
  });
  answer.once("error", () => response.destroy());
  // The head is sent with the first piece of the body, or at once if that comes late, as with server-sent events.
  setImmediate(() => {
    if (!isBodyWritten) response.flushHeaders();
  });
  return true;
}

/**
 * Frees the memory of a piece of an answer once it is written. Otherwise it stays until a garbage collection: large
 * answers then fill the memory with what was sent long ago, and its collection costs more than sending it.
 */
function freeing({ buffer, byteLength }: Buffer): (() => void) | undefined {
  // Small pieces may share their memory with others.
  const isOwn = byteLength === buffer.byteLength && byteLength >= FREED_BYTES_MIN;
  return isOwn && buffer instanceof ArrayBuffer ? () => void buffer.transfer(0) : undefined;
}

const FREED_BYTES_MIN = 16_384;

/**
 * Passes on informational responses (1xx), if the client knows them and reads fast enough.
 * @param onFlood Called when the upstream sends too many, to end the connection.
 */
export function relayInformation(
  sent: ClientRequest,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  onFlood: () => void,
): void {
  const isKnown = request.httpVersionMinor > 0;
  let received = 0;
  let relayed = 0;
  let isContinued = request.headers.expect === undefined;
  sent.on("continue", () => {
    if (isKnown && !isContinued) response.writeContinue();
    isContinued = true;
  });
  sent.on("information", ({ statusCode, headers }) => {
    received++;
    if (received > INFORMATION_RECEIVED_MAX) {
      // Data that was read together is still parsed, so this may be called again.
      if (received === INFORMATION_RECEIVED_MAX + 1) onFlood();
      return;
    }
    // Node's parser does not wait, so unread responses would fill the memory here.
    if (!isKnown || relayed >= INFORMATION_RELAYED_MAX || response.writableLength > 0) return;
    if (writeInformation(response, statusCode, headers.link)) relayed++;
  });
}

const INFORMATION_RELAYED_MAX = 8; // Applications send one or two.
const INFORMATION_RECEIVED_MAX = 100;

/** @returns Whether something was written. */
function writeInformation(response: ServerResponse, status: number, link: string | string[] | undefined): boolean {
  try {
    if (status === 102) response.writeProcessing();
    else if (status === 103 && link !== undefined) response.writeEarlyHints({ link });
    else return false;
    return true;
  } catch {
    // Node writes only simple links, and the hints are optional.
    return false;
  }
}

function hasTrailers(answer: IncomingMessage, request: IncomingMessage): boolean {
  return (
    answer.headers["transfer-encoding"] !== undefined &&
    hasBody(answer) &&
    request.httpVersionMinor > 0 &&
    request.method !== "HEAD" &&
    answer.statusCode !== 204 &&
    answer.statusCode !== 304
  );
}

function pairs(raw: readonly string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) list.push([raw[index] ?? "", raw[index + 1] ?? ""]);
  return list;
}
