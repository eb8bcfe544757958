import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { http } from "./builtins.ts";
import type { Listener } from "./listener.ts";
import { type ControlRequests, WATCH_PATH } from "./protocol.ts";
import type { ProxyState } from "./state.ts";

/**
 * The proxy's side of `ControlRequests`: JSON over HTTP on a Unix socket, in a folder that only the control plane's
 * user can enter. It cannot be reached from the public port.
 */
export function createControlServer(state: ProxyState, listener: Listener): Server {
  return http.createServer((request, response) => {
    answer(state, listener, { request, response }).catch((error: unknown) => {
      console.error("Control request %s failed:", request.url, error);
      response.writeHead(500).end();
    });
  });
}

async function answer(
  state: ProxyState,
  listener: Listener,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
): Promise<void> {
  if (request.url === WATCH_PATH) {
    response.flushHeaders();
    return;
  }
  const body = await readBody(request);
  // Only the control plane reaches this socket, and it sends `ControlRequests`.
  const input = <Name extends keyof ControlRequests>() => JSON.parse(body) as ControlRequests[Name];
  switch (request.url) {
    case "/sync":
      state.syncSites(input<"sync">());
      break;
    case "/put":
      state.putSite(input<"put">());
      break;
    case "/delete":
      state.deleteSite(input<"delete">());
      break;
    case "/listen":
      await listener.listen();
      break;
    case "/retire":
      listener.retire();
      break;
  }
  response.end(JSON.stringify(await listener.status()));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
