import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request, type Server } from "node:http";
import { type AddressInfo, connect, type Server as NetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Upstream } from "@berth/core/deploy";
import type { Site } from "@berth/core/ports";
import { type EmbeddedProxy, type EmbeddedProxyOptions, embeddedProxy } from "./embedded.ts";

export const HOST = "127.0.0.1";

export interface TestProxy {
  readonly proxy: EmbeddedProxy;
  readonly folder: string;
  readonly port: number;
  /** Ends the process and removes its folder. */
  stop(): Promise<void>;
}

export async function startProxy(options: Partial<EmbeddedProxyOptions> = {}): Promise<TestProxy> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "berth-proxy-")));
  const proxy = await embeddedProxy({ folder, host: HOST, port: 0, nodePath: process.execPath, ...options });
  return {
    proxy,
    folder,
    port: proxy.port,
    async stop() {
      await proxy.close({ stopProxy: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface TestUpstream extends Upstream {
  readonly server: Server;
  stop(): Promise<void>;
}

export async function startUpstream(handler: Parameters<typeof createServer>[1]): Promise<TestUpstream> {
  const server = createServer({ maxHeaderSize: 64 * 1024 }, handler);
  return {
    host: HOST,
    port: await listen(server),
    server,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** @returns The port. */
export function listen(server: NetServer): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    // A TCP server has an address with a port once it listens.
    server.listen(0, HOST, () => resolve((server.address() as AddressInfo).port));
  });
}

export function site(id: string, upstreams: readonly Upstream[], other: Partial<Site> = {}): Site {
  const routes = [{ host: `${id}.test`, path: "/" }];
  return { id, name: `app-${id}`, routes, upstreams: upstreams.map(({ host, port }) => ({ host, port })), ...other };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly trailers: IncomingMessage["trailers"];
  readonly text: string;
}

export interface Asked {
  readonly host: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
}

/** Sends one request over a new connection. */
export function ask(port: number, { host, path = "/", method = "GET", headers, body }: Asked): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: HOST, port, path, method, agent: false, headers: { host, ...headers } }, (answer) => {
      readAll(answer).then((bytes) => {
        const { statusCode: status = 0, headers, trailers } = answer;
        resolve({ status, headers, trailers, text: bytes.toString() });
      }, reject);
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

export async function readAll(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Sends exactly these bytes, and returns all received bytes until the connection ends. */
export function exchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, HOST, () => socket.write(bytes, "latin1"));
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.once("error", reject);
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
  });
}
