import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { http } from "./builtins.ts";
import { hasBody, upstreamHeaders } from "./headers.ts";
import { badRequest, brokenAnswer, sendPage, siteDown } from "./pages.ts";
import { relayAnswer, relayBody, relayInformation } from "./relay.ts";
import { type Asked, resolveRequest } from "./resolve.ts";
import type { ProxyState } from "./state.ts";
import type { SiteEntry } from "./table.ts";
import { MAX_HEADER_BYTES, nextUpstream, type UpstreamPool, upstreamKey } from "./upstream.ts";

/** A client's request in progress, possibly in its second attempt. */
interface Exchange {
  readonly state: ProxyState;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  asked: Asked;
  readonly hasBody: boolean;
  /** Keys of the upstreams that refused a connection, which are not tried again. */
  readonly refused: Set<string>;
  /** Whether this is the second attempt, after an idle connection turned out to be closed; it opens a new one. */
  isRepeated: boolean;
  upstreamRequest: ClientRequest | undefined;
}

/** Answers a client's request with an own page or with the upstream's answer. */
export function forward(state: ProxyState, request: IncomingMessage, response: ServerResponse): void {
  state.requests++;
  if (state.isRetired) response.shouldKeepAlive = false;
  response.on("timeout", endStalled);
  const resolved = resolveRequest(state, request);
  if (resolved.page !== undefined) {
    sendPage(resolved.page, request, response);
    return;
  }
  const exchange: Exchange = {
    state,
    request,
    response,
    requestId: state.requestId(request),
    asked: resolved.asked,
    hasBody: hasBody(request),
    refused: new Set(),
    isRepeated: false,
    upstreamRequest: undefined,
  };
  response.once("close", () => {
    if (!response.writableFinished) exchange.upstreamRequest?.destroy();
  });
  attempt(exchange, resolved.entry);
}

function attempt(exchange: Exchange, entry: SiteEntry): void {
  const { state, request, response } = exchange;
  const upstream = nextUpstream(entry, exchange.refused);
  if (upstream === undefined) {
    sendPage(siteDown(entry.site.name), request, response);
    return;
  }
  const pool = state.upstreams.enter(upstream);
  const sent = sendHead(exchange, pool);
  if (sent === undefined) {
    state.upstreams.leave(pool);
    sendPage(badRequest("A header or the path holds a character that is not allowed."), request, response);
    return;
  }
  exchange.upstreamRequest = sent;
  let isConnected = false;
  let answer: IncomingMessage | undefined;
  let hasFailed = false;

  onConnection(sent, (socket) => {
    isConnected = true;
    // Not earlier: as long as no body was read, the request can still go to another upstream.
    if (exchange.hasBody) relayBody(request, sent, socket);
  });
  relayInformation(sent, exchange, () => breakOff(exchange, entry));
  // No upgrade was requested, but Node leaves the connection to us.
  sent.once("upgrade", (_answer, socket) => {
    socket.destroy();
    breakOff(exchange, entry);
  });
  sent.once("response", (message: IncomingMessage) => {
    answer = message;
    const { requestId, asked } = exchange;
    if (relayAnswer(message, request, response, { requestId, isUnlisted: asked.isUnlisted }))
      state.countAnswer(entry.site);
    else breakOff(exchange, entry);
  });
  sent.on("error", () => {
    hasFailed = true;
    if (response.destroyed || response.writableEnded) return;
    if (answer !== undefined) {
      // A complete answer is accepted even if the upstream did not read the whole request body.
      if (!answer.complete) response.destroy();
      return;
    }
    if (isConnected && !(sent.reusedSocket && isRepeatable(exchange))) {
      breakOff(exchange, entry);
      return;
    }
    if (isConnected) exchange.isRepeated = true;
    else exchange.refused.add(upstreamKey(upstream));
    retry(exchange, entry);
  });
  sent.once("close", () => {
    state.upstreams.leave(pool);
    // Makes sure that the client never waits for ever, whatever ended the exchange.
    const isOpen = !response.destroyed && !response.writableEnded;
    if (answer === undefined && !hasFailed && isOpen) breakOff(exchange, entry);
  });
}

/** Looks up the current table: the site may have moved since the request arrived. */
function retry(exchange: Exchange, entry: SiteEntry): void {
  const { state, request, response } = exchange;
  const resolved = resolveRequest(state, request);
  if (resolved.page === undefined) {
    exchange.asked = resolved.asked;
    attempt(exchange, resolved.entry);
    return;
  }
  sendPage(siteDown(entry.site.name), request, response);
}

/**
 * The answer is lost, and the application may have processed the request, so only the client can decide to repeat it.
 */
function breakOff({ request, response, upstreamRequest }: Exchange, { site }: SiteEntry): void {
  upstreamRequest?.destroy();
  if (response.headersSent) response.destroy();
  else sendPage(brokenAnswer(site.name), request, response);
}

/**
 * Whether the request may be sent twice. Applications close idle connections at any time, and for a request written at
 * that moment it is unknown whether it was read.
 */
function isRepeatable({ request, hasBody }: Exchange): boolean {
  return !hasBody && IDEMPOTENT.has(request.method ?? "");
}

const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"]);

/** `undefined`: the head contains something that Node refuses to write. */
function sendHead(exchange: Exchange, { upstream, agent }: UpstreamPool): ClientRequest | undefined {
  const { state, request, requestId } = exchange;
  if (exchange.isRepeated) agent.dropIdle();
  else if (!isRepeatable(exchange)) agent.dropStale();
  try {
    const sent = http.request({
      host: upstream.host,
      port: upstream.port,
      method: request.method,
      path: exchange.asked.target,
      headers: upstreamHeaders(request, {
        trustsForwarded: state.trusts(request),
        requestId,
        prefix: exchange.asked.prefix,
      }),
      agent,
      maxHeaderSize: MAX_HEADER_BYTES,
    });
    if (!exchange.hasBody) sent.end();
    return sent;
  } catch {
    return undefined;
  }
}

/** The agent's timeout is for idle connections, but would also apply while connecting. */
function onConnection(sent: ClientRequest, onConnected: (socket: Socket) => void): void {
  sent.once("socket", (socket) => {
    if (!socket.connecting) {
      onConnected(socket);
      return;
    }
    const giveUp = () => sent.destroy(new Error("The upstream did not accept the connection in time."));
    sent.once("timeout", giveUp);
    socket.once("connect", () => {
      sent.off("timeout", giveUp);
      onConnected(socket);
    });
  });
}

/** After inactivity on the client's connection: closes it if it is the client that keeps us waiting. */
function endStalled(this: ServerResponse, socket: Socket): void {
  const { req: request } = this;
  const isUploadStalled = !request.complete && request.readableFlowing === true;
  if (isUploadStalled || this.writableNeedDrain) socket.destroy();
  // An application may think or stream events for any time.
  else socket.setTimeout(socket.timeout ?? 0);
}
