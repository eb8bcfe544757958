// An application behind the benched proxies: `/N` answers N bytes, and WebSockets stay open. Prints its port.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** Of RFC 6455. */
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const bodies = new Map<number, Buffer>();
const server = createServer((request, response) => {
  const length = Number(request.url?.slice(1));
  const body = bodies.get(length) ?? Buffer.alloc(length, "x");
  bodies.set(length, body);
  response.setHeader("content-length", length).end(body);
});
// An upgraded connection stays open; nothing is said over it.
server.on("upgrade", (request, socket) => {
  const accept = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${GUID}`).digest("base64");
  socket.on("error", () => {});
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  );
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
