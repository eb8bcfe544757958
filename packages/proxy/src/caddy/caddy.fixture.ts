import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import type { ManagedProxy } from "@berth/core/ports";
import { dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import type { DockerFixture } from "@berth/testing";
import { until } from "@berth/testing";
import { afterAll, afterEach, beforeAll } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { ProxyWorld } from "../conformance/bed.fixture.ts";
import { HOST, listen, startUpstream, type TestUpstream } from "../proxy.fixture.ts";
import type { ServerProxyOptions } from "../server/settings.ts";
import { caddyProxy } from "./caddy.ts";

export const IMAGE = "caddy:2";
export const testHost = localHost("here");

export interface CaddyOptions extends ServerProxyOptions {
  readonly httpPort: number;
  readonly httpsPort: number;
}

/** Options for a test's proxy, which is not started yet. The suite removes its container by the instance. */
export async function caddyOptions(
  docker: DockerFixture,
  other: Partial<Omit<CaddyOptions, "httpPort" | "httpsPort">> = {},
): Promise<CaddyOptions> {
  // Short, since a socket's path is limited to 107 bytes.
  const folder = await mkdtemp(join("/tmp", "berth-caddy-"));
  const [httpPort = 0, httpsPort = 0] = await freePorts(2);
  const client = dockerClient(testHost);
  const { instance, labels } = docker;
  return {
    host: testHost,
    docker: client,
    instance,
    labels,
    folder,
    tls: { issuer: "internal" },
    httpPort,
    httpsPort,
    ...other,
  };
}

/** A proxy in a container, for the conformance suite. */
export async function containerWorld<Options extends CaddyOptions>(
  options: Options,
  make: (options: Options) => ManagedProxy,
): Promise<ProxyWorld> {
  const proxy = make(options);
  await proxy.ensure();
  return {
    proxy,
    httpPort: options.httpPort,
    reincarnate: async () => make(options),
    async close() {
      await proxy.stop();
      await rm(options.folder, { recursive: true, force: true });
    },
  };
}

export interface UsedCaddy {
  readonly proxy: ManagedProxy;
  readonly options: CaddyOptions;
  /** Options for another instance's proxy, removed after the current test. */
  elsewhere(suffix: string): Promise<CaddyOptions>;
  /** Runs after the current test. */
  cleanUp(work: () => unknown): void;
  upstream(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<TestUpstream>;
  /** A WebSocket server that returns every message prefixed with its name. */
  echo(name: string): Promise<{ readonly host: string; readonly port: number }>;
}

/** A Caddy shared by all tests of a suite; each test begins without sites. */
export function useCaddy(docker: DockerFixture): UsedCaddy {
  let used: { readonly options: CaddyOptions; readonly proxy: ManagedProxy } | undefined;
  let cleanups: (() => unknown)[] = [];
  beforeAll(async () => {
    const options = await caddyOptions(docker);
    used = { options, proxy: caddyProxy(options) };
    await used.proxy.ensure();
  });
  afterEach(async () => {
    await Promise.all(cleanups.map((cleanup) => cleanup()));
    cleanups = [];
    await used?.proxy.sync([]);
  });
  afterAll(async () => {
    await used?.proxy.stop();
    if (used !== undefined) await rm(used.options.folder, { recursive: true, force: true });
  });

  function started() {
    if (used === undefined) throw new Error("The proxy is started before the first test.");
    return used;
  }

  return {
    get proxy() {
      return started().proxy;
    },
    get options() {
      return started().options;
    },
    async elsewhere(suffix) {
      const options = await caddyOptions(docker, { instance: `${docker.instance}-${suffix}` });
      cleanups.push(async () => {
        // The suite removes containers that are not ours.
        await caddyProxy(options)
          .stop()
          .catch(() => {});
        await rm(options.folder, { recursive: true, force: true });
      });
      return options;
    },
    cleanUp: (work) => cleanups.push(work),
    async upstream(handler) {
      const upstream = await startUpstream(handler);
      cleanups.push(upstream.stop);
      return upstream;
    },
    async echo(name) {
      const server = createServer((_request, response) => response.end(name));
      const sockets = new WebSocketServer({ server });
      sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`${name} ${data}`)));
      cleanups.push(() => {
        for (const socket of sockets.clients) socket.terminate();
        server.closeAllConnections();
        server.close();
      });
      return { host: HOST, port: await listen(server) };
    },
  };
}

export interface OpenSocket {
  readonly socket: WebSocket;
  /** Sends a message and returns the answer. */
  say(text: string): Promise<string>;
}

export async function openSocket(port: number, host: string): Promise<OpenSocket> {
  const socket = new WebSocket(`ws://${HOST}:${port}/`, { headers: { Host: host } });
  const messages: string[] = [];
  socket.on("message", (data) => messages.push(String(data)));
  socket.on("error", () => {});
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return {
    socket,
    async say(text) {
      socket.send(text);
      await until(() => messages.length > 0, { what: "it is answered" });
      return messages.shift() ?? "";
    },
  };
}

export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createTcpServer());
  const ports = await Promise.all(servers.map(listen));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
