// The embedded proxy beside Caddy, and beside nginx and HAProxy where they are installed: CPU for small and large
// answers, memory beside readers that are slow, and what an open WebSocket costs.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { freePort } from "../packages/host/src/testing.ts";
import { site, startProxy } from "../packages/proxy/src/proxy.fixture.ts";
import { until } from "../packages/testing/src/until.ts";
import { cpuMs, median, rssMb } from "./measure.ts";
import { atMost, type Figure, told } from "./report.ts";

const HOST = "127.0.0.1";
const ROUNDS = 2;
const SECONDS = 2;
const SMALL = { path: "/1024", connections: 32 };
const LARGE = { path: "/1048576", connections: 8 };
const SLOW_READERS = 100;
const SLOW_PATH = "/16777216";
const WEBSOCKETS = 2_000;
const MEMORY_MB_MAX = 100;

interface Program {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

interface Spent {
  readonly cpuUs: number;
  readonly perSecond: number;
}

export async function benchProxy(): Promise<readonly Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), "proxies-"));
  const upstream = spawn(process.execPath, [fileURLToPath(new URL("./proxy-upstream.ts", import.meta.url))], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = Number(String(await once(upstream.stdout, "data")).trim());
  const programs = [await embedded(port), ...(await others(folder, port))];
  try {
    const small = await compared(programs, SMALL);
    const large = await compared(programs, LARGE);
    const [own] = programs;
    if (own === undefined) throw new Error("The embedded proxy is the first one.");
    return [
      ...ratios("1 KB", small, 1),
      ...ratios("1 MB", large, 1.3),
      ...programs.flatMap(({ name }) => [
        told(`${name}: requests a second, 1 KB`, small.get(name)?.perSecond ?? Number.NaN, ""),
        told(`${name}: CPU of a request, 1 KB`, small.get(name)?.cpuUs ?? Number.NaN, " µs"),
        told(`${name}: CPU of a request, 1 MB`, large.get(name)?.cpuUs ?? Number.NaN, " µs"),
      ]),
      ...(await memory(own)),
    ];
  } finally {
    for (const program of programs) await program.stop();
    upstream.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

const EMBEDDED = "Embedded proxy";
const CADDY = "Caddy";

async function embedded(upstreamPort: number): Promise<Program> {
  const { proxy, port, stop } = await startProxy();
  const routes = [{ host: HOST, path: "/" }];
  await proxy.put(site("bench", [{ host: HOST, port: upstreamPort }], { routes }));
  const { pid } = await proxy.status();
  return { name: EMBEDDED, port, pid, stop };
}

/** Those of Debian's packages that are installed. */
async function others(folder: string, upstreamPort: number): Promise<readonly Program[]> {
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const [caddyPort = 0, nginxPort = 0, haproxyPort = 0] = ports;
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const caddy = write("caddy.json", caddyConfig(caddyPort, upstreamPort));
  const nginx = write("nginx.conf", nginxConfig(folder, nginxPort, upstreamPort));
  const haproxy = write("haproxy.cfg", haproxyConfig(haproxyPort, upstreamPort));
  const all = [
    { name: CADDY, file: "/usr/bin/caddy", args: ["run", "--config", caddy], port: caddyPort },
    { name: "nginx", file: "/usr/sbin/nginx", args: ["-c", nginx, "-p", folder], port: nginxPort },
    { name: "HAProxy", file: "/usr/sbin/haproxy", args: ["-db", "-f", haproxy], port: haproxyPort },
  ];
  return await Promise.all(all.filter(({ file }) => existsSync(file)).map((one) => started(folder, one)));
}

async function started(
  folder: string,
  { name, file, args, port }: { name: string; file: string; args: readonly string[]; port: number },
): Promise<Program> {
  const child = spawn(file, args, { env: { HOME: folder, PATH: process.env.PATH }, stdio: "ignore" });
  await until(async () => (await fetch(`http://${HOST}:${port}/1`).catch(() => undefined))?.ok, {
    what: `${name} answers`,
  });
  return {
    name,
    port,
    pid: child.pid ?? 0,
    async stop() {
      const ended = once(child, "exit");
      child.kill();
      await ended;
    },
  };
}

/** Each in turn, so that other work on the machine disturbs all of them alike. */
async function compared(
  programs: readonly Program[],
  { path, connections }: { readonly path: string; readonly connections: number },
): Promise<ReadonlyMap<string, Spent>> {
  const rounds = new Map<string, Spent[]>(programs.map(({ name }) => [name, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { name, port, pid } of programs) {
      const before = cpuMs(pid);
      const result = await autocannon({ url: `http://${HOST}:${port}${path}`, connections, duration: SECONDS });
      if (result.non2xx + result.errors > 0) throw new Error(`${name} failed requests.`);
      const spent = {
        cpuUs: ((cpuMs(pid) - before) * 1000) / result.requests.total,
        perSecond: result.requests.average,
      };
      // The first round only warms up.
      if (round > 0) rounds.get(name)?.push(spent);
    }
  }
  return new Map(
    [...rounds].map(([name, list]) => [
      name,
      { cpuUs: median(list.map(({ cpuUs }) => cpuUs)), perSecond: median(list.map(({ perSecond }) => perSecond)) },
    ]),
  );
}

function ratios(what: string, spent: ReadonlyMap<string, Spent>, most: number): readonly Figure[] {
  const [own, caddy] = [spent.get(EMBEDDED), spent.get(CADDY)];
  const name = `Embedded proxy, CPU of an answer of ${what} against Caddy`;
  if (own === undefined || caddy === undefined) return [told(`${name}: Caddy is not installed`, Number.NaN, "")];
  return [atMost(name, own.cpuUs / caddy.cpuUs, most)];
}

async function memory({ port, pid }: Program): Promise<readonly Figure[]> {
  const before = rssMb(pid);
  const readers = await Promise.all(Array.from({ length: SLOW_READERS }, () => slowReader(port)));
  let peak = before;
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    await pause(SAMPLE_MS);
    peak = Math.max(peak, rssMb(pid));
  }
  for (const reader of readers) reader.destroy();
  await pause(1000);
  const idle = rssMb(pid);
  const sockets = await Promise.all(Array.from({ length: WEBSOCKETS }, () => webSocket(port)));
  const each = ((rssMb(pid) - idle) * 1024) / WEBSOCKETS;
  for (const socket of sockets) socket.close();
  return [
    atMost("Embedded proxy, RSS after large answers", before, MEMORY_MB_MAX, " MB"),
    atMost(`Embedded proxy, RSS beside ${SLOW_READERS} slow readers of 16 MB`, peak, MEMORY_MB_MAX, " MB"),
    told(`Embedded proxy, memory of each of ${WEBSOCKETS} WebSockets`, each, " KB"),
  ];
}

const SAMPLES = 20;
const SAMPLE_MS = 200;

/** Reads a little of a large answer, and then nothing. */
function slowReader(port: number): Promise<Socket> {
  const socket = connect(port, HOST);
  socket.write(`GET ${SLOW_PATH} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.once("data", () => {
      socket.pause();
      socket.off("error", reject).on("error", () => {});
      resolve(socket);
    });
  });
}

function webSocket(port: number): Promise<WebSocket> {
  const socket = new WebSocket(`ws://${HOST}:${port}/`);
  return new Promise((resolve, reject) => {
    socket.addEventListener("open", () => resolve(socket));
    socket.addEventListener("error", () => reject(new Error("A WebSocket did not open.")));
  });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const caddyConfig = (port: number, upstreamPort: number): string =>
  JSON.stringify({
    admin: { disabled: true },
    apps: {
      http: {
        servers: {
          bench: {
            listen: [`${HOST}:${port}`],
            automatic_https: { disable: true },
            routes: [{ handle: [{ handler: "reverse_proxy", upstreams: [{ dial: `${HOST}:${upstreamPort}` }] }] }],
          },
        },
      },
    },
  });

const nginxConfig = (folder: string, port: number, upstreamPort: number): string => `
daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;
events { worker_connections 8192; }
http {
  access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  upstream bench { server ${HOST}:${upstreamPort}; keepalive 64; }
  server { listen ${HOST}:${port}; location / { proxy_pass http://bench; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`;

const haproxyConfig = (port: number, upstreamPort: number): string => `
global
  nbthread 1
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
frontend bench
  bind ${HOST}:${port}
  default_backend upstream
backend upstream
  server upstream ${HOST}:${upstreamPort}
`;
