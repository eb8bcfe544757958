import { mkdtemp, rm } from "node:fs/promises";
import { get as getPlain } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { dockerClient } from "@berth/docker-client";
import { type SshHost, sshHost } from "@berth/host";
import { describeDocker, SERVER_IMAGE, type ServerContainer, startServerContainer, until } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { site } from "../proxy.fixture.ts";
import { IMAGE } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";

const NAME = "shop.berth-acme.net"; // Looks like a public name, but only the authority's hosts file resolves it.
const DIRECTORY = "https://localhost:9443/acme/local/directory";

/** Another Caddy serves as the authority. */
const AUTHORITY = {
  admin: { disabled: true },
  apps: {
    http: {
      servers: {
        acme: {
          listen: [":9443"],
          routes: [{ handle: [{ handler: "acme_server", host: "localhost:9443" }] }],
          automatic_https: { disable: true },
          tls_connection_policies: [{}],
        },
      },
    },
    tls: {
      certificates: { automate: ["localhost"] },
      automation: { policies: [{ subjects: ["localhost"], issuers: [{ module: "internal" }] }] },
    },
    pki: { certificate_authorities: { local: { install_trust: false } } },
  },
};

describeDocker("Caddy on the ports 80 and 443 of a whole server", [IMAGE, SERVER_IMAGE], (docker) => {
  let server: ServerContainer;
  let host: SshHost;
  let bridgeFolder: string;

  beforeAll(async () => {
    server = await startServerContainer(docker);
    await server.loadImages(IMAGE);
    bridgeFolder = await mkdtemp(join("/tmp", "berth-bridge-"));
    host = sshHost({
      name: "web-1",
      ip: server.address,
      port: server.port,
      user: server.user,
      connectTimeoutSeconds: 10,
      privateKey: async () => server.keys.privateKey,
      hostKey: null,
      onHostKey: async () => {},
      bridgeFolder,
    });
  });
  afterAll(async () => {
    await host.close();
    await rm(bridgeFolder, { recursive: true, force: true });
  });

  it("gets a certificate of an ACME authority for a site that forces https, and keeps it over a restart", async () => {
    const engine = dockerClient(host);
    const acmeRoot = await startAuthority(host, server.address);
    const tls = { issuer: "automatic", email: "me@berth-acme.net", acmeDirectory: DIRECTORY, acmeRoot } as const;
    const folder = "/var/lib/berth/proxy";
    const proxy = caddyProxy({ host, docker: engine, instance: docker.instance, folder, tls });
    await proxy.ensure();
    const routes = [{ host: NAME, path: "/", isHttps: true }];
    await proxy.put(site("shop", [], { routes, isHttpsForced: true }));
    await until(async () => (await statusOf(server.address, acmeRoot).catch(() => 0)) === 503, {
      what: "it is served by https",
      seconds: 60,
    });
    const plain = await ask80(server.address);
    expect(plain).toEqual([308, `https://${NAME}/x`]);
    await proxy.stop();
    await proxy.ensure();
    expect(await statusOf(server.address, acmeRoot)).toBe(503);
    expect(proxy.publicUrl(`https://${NAME}:3000/x`)).toBe(`https://${NAME}/x`);
    await proxy.stop();
  });
});

/** @returns The authority's root certificate. */
async function startAuthority(host: SshHost, serverAddress: string): Promise<string> {
  await host.files.makeFolder("/srv/ca/data");
  await host.files.write("/srv/ca/ca.json", JSON.stringify(AUTHORITY));
  const container = await dockerClient(host).createContainer({
    Image: IMAGE,
    Cmd: ["caddy", "run", "--config", "/srv/ca.json"],
    HostConfig: {
      NetworkMode: "host",
      Binds: ["/srv/ca/ca.json:/srv/ca.json:ro", "/srv/ca/data:/data"],
      ExtraHosts: [`${NAME}:${serverAddress}`],
    },
  });
  await container.start();
  let root: Buffer | undefined;
  await until(
    async () => {
      root = await host.files.read("/srv/ca/data/caddy/pki/authorities/local/root.crt");
      return root !== undefined;
    },
    { what: "the authority has its root" },
  );
  return String(root);
}

/** Status for a client that trusts only this authority. */
function statusOf(address: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { host: address, port: 443, servername: NAME, headers: { host: NAME }, agent: false, ca };
    get(options, (answer) => resolve(answer.resume().statusCode)).once("error", reject);
  });
}

function ask80(address: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    getPlain({ host: address, path: "/x", headers: { host: NAME }, agent: false }, (answer) =>
      resolve([answer.resume().statusCode, answer.headers.location]),
    ).once("error", reject);
  });
}
