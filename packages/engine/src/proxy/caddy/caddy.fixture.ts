import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import type { ManagedProxy } from "@berth/core";
import { dockerClient } from "../../docker/client.ts";
import { localHost } from "../../host/local-host.ts";
import { listen } from "../proxy.fixture.ts";
import type { ServerProxyOptions } from "../server/settings.ts";
import { caddyProxy } from "./caddy.ts";

export const testHost = localHost("here");
export const docker = dockerClient(testHost);

/** Why tests with real containers do not run, if so. */
export async function whyNoCaddy(): Promise<string | undefined> {
  try {
    await docker.getImage("caddy:2").inspect();
    return undefined;
  } catch (error) {
    return `no Docker engine with an image caddy:2 (${error instanceof Error ? error.message : error})`;
  }
}

export interface TestCaddy {
  readonly proxy: ManagedProxy;
  readonly options: ServerProxyOptions & { readonly httpPort: number; readonly httpsPort: number };
  /** Another control plane for the same proxy. */
  again(options?: Partial<ServerProxyOptions>): ManagedProxy;
  remove(): Promise<void>;
}

export async function startCaddy(other: Partial<TestCaddy["options"]> = {}): Promise<TestCaddy> {
  const instance = `test-${randomBytes(5).toString("hex")}`;
  // Short: the path of a socket has 107 bytes.
  const folder = await mkdtemp(join("/tmp", "berth-caddy-"));
  const [httpPort = 0, httpsPort = 0] = await freePorts(2);
  const labels = { "berth.test": "proxy" };
  const tls = { issuer: "internal" } as const;
  const options = { host: testHost, docker, instance, folder, httpPort, httpsPort, labels, tls, ...other };
  const proxy = caddyProxy(options);
  async function remove(): Promise<void> {
    await proxy.stop();
    await rm(folder, { recursive: true, force: true });
  }
  try {
    await proxy.ensure();
  } catch (error) {
    await remove();
    throw error;
  }
  return { proxy, options, again: (changed) => caddyProxy({ ...options, ...changed }), remove };
}

export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(servers.map(listen));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
