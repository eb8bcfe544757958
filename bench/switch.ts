// Failed requests while releases in containers replace each other behind Caddy: none may fail.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { dockerClient } from "../packages/docker-client/src/client.ts";
import { localHost } from "../packages/host/src/local-host.ts";
import { caddyProxy } from "../packages/proxy/src/caddy/caddy.ts";
import { switchUnderLoad } from "../packages/proxy/src/caddy/switch-load.fixture.ts";
import { listen } from "../packages/proxy/src/proxy.fixture.ts";
import { atMost, type Figure } from "./report.ts";

const SWITCHES = 50;
const REQUESTS = 10_000;
const REQUESTS_PER_SECOND = 400;

export async function benchSwitch(): Promise<readonly Figure[]> {
  const host = localHost("here");
  const docker = dockerClient(host);
  const instance = `bench-${randomBytes(5).toString("hex")}`;
  // Short, since a socket's path is limited to 107 bytes.
  const folder = mkdtempSync("/tmp/berth-bench-");
  const [httpPort = 0, httpsPort = 0] = await freePorts();
  const proxy = caddyProxy({ host, docker, instance, folder, httpPort, httpsPort, tls: { issuer: "internal" } });
  const network = await docker.createNetwork({ Name: instance, Labels: { "berth.bench": instance } });
  try {
    await proxy.ensure();
    const result = await switchUnderLoad({
      proxy,
      port: httpPort,
      docker,
      labels: { "berth.bench": instance },
      network: instance,
      switches: SWITCHES,
      requestsMin: REQUESTS,
      requestsPerSecond: REQUESTS_PER_SECOND,
    });
    const { requests, messages, failures, releases, switchMs } = result;
    console.log(`  ${requests} requests, ${messages} messages over WebSockets, ${releases} releases`);
    console.log(`  a switch takes ${switchMs.toFixed(1)} ms`);
    for (const failure of failures.slice(0, 10)) console.log(`  ${failure}`);
    const name = `Requests and WebSockets failed in ${SWITCHES} switches on Docker, of ${REQUESTS} and more at ${REQUESTS_PER_SECOND}/s`;
    return [atMost(name, failures.length, 0)];
  } finally {
    await proxy.stop();
    await network.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function freePorts(): Promise<readonly number[]> {
  const servers = [createServer(), createServer()];
  const ports = await Promise.all(servers.map(listen));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
