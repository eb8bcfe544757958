import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Upstream } from "@berth/core/deploy";
import { http } from "./builtins.ts";
import { hasBody, upgradeHeaders, upstreamHeaders } from "./headers.ts";
import { badRequest, brokenAnswer, type Page, sendPage, siteDown } from "./pages.ts";
import { relayAnswer } from "./relay.ts";
import { type Asked, resolveRequest } from "./resolve.ts";
import type { ProxyState } from "./state.ts";
import type { SiteEntry } from "./table.ts";
import { MAX_HEADER_BYTES, nextUpstream, upstreamKey } from "./upstream.ts";

/** A request to change the protocol of a client's connection. */
interface UpgradeRequest {
  readonly state: ProxyState;
  readonly request: IncomingMessage;
  readonly client: Socket;
  /** Data that the client sent directly after its request. */
  readonly head: Buffer;
  readonly refused: Set<string>;
  asked: Asked;
}

/**
 * Whether an upgrade is attempted. HTTP/2 without TLS is not supported, and a body would be read as the other
 * protocol's first bytes; a server may ignore such requests to upgrade.
 */
export function isUpgrade(request: IncomingMessage): boolean {
  return !hasBody(request) && request.headers.upgrade?.trim().toLowerCase() !== "h2c";
}

/** Connects the client with the site's upstream, once the upstream has agreed. */
export function upgrade(state: ProxyState, request: IncomingMessage, client: Socket, head: Buffer): void {
  state.requests++;
  client.setTimeout(0);
  client.on("error", () => client.destroy());
  const resolved = resolveRequest(state, request);
  if (resolved.page !== undefined) {
    answerPage({ request, client }, resolved.page);
    return;
  }
  attempt({ state, request, client, head, refused: new Set(), asked: resolved.asked }, resolved.entry);
}

function attempt(upgraded: UpgradeRequest, entry: SiteEntry): void {
  const { state, request, client, refused } = upgraded;
  const upstream = nextUpstream(entry, refused);
  if (upstream === undefined) {
    answerPage(upgraded, siteDown(entry.site.name));
    return;
  }
  const requestId = state.requestId(request);
  const sent = sendHead(upgraded, upstream, requestId);
  if (sent === undefined) {
    answerPage(upgraded, badRequest(UNWRITABLE_HEAD));
    return;
  }
  const pool = state.upstreams.enter(upstream);
  let stage: "connecting" | "asked" | "answered" | "joined" = "connecting";
  const endRequest = () => sent.destroy();
  client.once("close", endRequest);

  sent.once("socket", (socket) => {
    socket.once("connect", () => {
      stage = "asked";
    });
  });
  sent.once("upgrade", (answer, socket, firstBytes) => {
    stage = "joined";
    socket.once("close", () => state.upstreams.leave(pool));
    join(upgraded, answer, { socket, firstBytes });
  });
  sent.once("response", (answer) => {
    stage = "answered";
    const response = plainResponse(upgraded);
    if (relayAnswer(answer, request, response, { requestId, isUnlisted: upgraded.asked.isUnlisted })) return;
    sent.destroy();
    sendPage(brokenAnswer(entry.site.name), request, response);
  });
  sent.on("error", () => {
    client.off("close", endRequest);
    if (client.destroyed || stage === "answered") return;
    if (stage === "asked") {
      answerPage(upgraded, brokenAnswer(entry.site.name));
      return;
    }
    refused.add(upstreamKey(upstream));
    retry(upgraded, entry);
  });
  sent.once("close", () => {
    if (stage !== "joined") state.upstreams.leave(pool);
  });
}

function retry(upgraded: UpgradeRequest, entry: SiteEntry): void {
  const resolved = resolveRequest(upgraded.state, upgraded.request);
  if (resolved.page === undefined) attempt(Object.assign(upgraded, { asked: resolved.asked }), resolved.entry);
  else answerPage(upgraded, siteDown(entry.site.name));
}

/** Uses a new connection, which is never reused for another request. */
function sendHead(
  { state, request, asked }: UpgradeRequest,
  { host, port }: Upstream,
  requestId: string,
): ClientRequest | undefined {
  const forwarded = { trustsForwarded: state.trusts(request), requestId, prefix: asked.prefix };
  try {
    return http
      .request({
        host,
        port,
        method: request.method,
        path: asked.target,
        headers: upstreamHeaders(request, forwarded, request.headers.upgrade),
        agent: false,
        maxHeaderSize: MAX_HEADER_BYTES,
      })
      .end();
  } catch {
    return undefined;
  }
}

interface UpstreamEnd {
  readonly socket: Socket;
  /** Data that the upstream sent directly after its answer. */
  readonly firstBytes: Buffer;
}

function join({ client, head }: UpgradeRequest, answer: IncomingMessage, upstream: UpstreamEnd): void {
  const { socket, firstBytes } = upstream;
  const lines = [`HTTP/1.1 101 ${answer.statusMessage ?? ""}`];
  const headers = upgradeHeaders(answer);
  for (let index = 0; index < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`);
  client.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  if (firstBytes.length > 0) client.write(firstBytes);
  if (head.length > 0) socket.write(head);
  for (const [from, to] of [
    [client, socket],
    [socket, client],
  ] as const) {
    from.setTimeout(0);
    from.setNoDelay(true);
    // Detects a peer that vanished without closing the connection.
    from.setKeepAlive(true, KEEP_ALIVE_MS);
    from.on("error", () => from.destroy());
    // Pending data is written first.
    from.once("close", () => to.destroySoon());
    from.pipe(to);
  }
}

function answerPage(upgraded: Pick<UpgradeRequest, "request" | "client">, page: Page): void {
  sendPage(page, upgraded.request, plainResponse(upgraded));
}

/** For an upgrade, Node leaves the connection to us, even the response when it is refused. */
function plainResponse({ request, client }: Pick<UpgradeRequest, "request" | "client">): ServerResponse {
  const response = new http.ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(client);
  // A server does this for the responses that it creates itself.
  client.on("drain", () => response.emit("drain"));
  response.once("finish", () => {
    response.detachSocket(client);
    client.destroySoon();
  });
  return response;
}

const UNWRITABLE_HEAD = "A header or the path holds a character that is not allowed.";
const KEEP_ALIVE_MS = 60_000;
