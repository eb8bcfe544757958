import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import type { ManagedProxy } from "@berth/core/ports";
import { dockerClient, ownedLabels } from "@berth/docker-client";
import { type SshHost, sshHost } from "@berth/host";
import { describeDocker, eventually, SERVER_IMAGE, type SwarmServer, startSwarm } from "@berth/testing";
import type Docker from "dockerode";
import { afterAll, beforeAll, expect, test } from "vitest";
import { IMAGE } from "./caddy/caddy.fixture.ts";
import { readAll, site } from "./proxy.fixture.ts";
import { overlaysOf } from "./server/overlays.ts";
import { serverProxy } from "./server/server-proxy.ts";

/** Asks the site at port 80 of a server. */
const answerOf = (host: string, { method = "GET", path = "/" } = {}): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const headers = { host: "a.test", connection: "close" };
    const asked = request({ host, method, path, headers, timeout: 5000 }, (response) => {
      if (response.statusCode === 200) readAll(response).then(resolve, reject);
      else reject(new Error(`The proxy answered ${response.resume().statusCode}.`));
    });
    asked.once("timeout", () => asked.destroy(new Error("The proxy did not answer.")));
    asked.on("error", reject).end();
  });

/** Serial number of the certificate at port 443 of a server. */
const serialOf = (host: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connectTls({ host, port: 443, servername: "a.test", rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.serialNumber ?? "");
      socket.end();
    });
    socket.once("error", reject);
  });

const APP_IMAGE = "node:24-alpine";
const APP = `
  const server = require("node:http").createServer((request, response) => response.end(process.env.MARK + " " + request.socket.remoteAddress));
  server.listen(3000);
`;

describeDocker("a proxy on a swarm", [IMAGE, APP_IMAGE, SERVER_IMAGE], (fixture) => {
  let servers: readonly SwarmServer[];
  let manager: SwarmServer;
  let docker: Docker;
  let folder: string;
  let proxy: ManagedProxy;
  const hosts: SshHost[] = [];
  const hostOf = ({ name, address, keys }: SwarmServer) => {
    const host = sshHost({
      ...{ name, ip: address, port: 22, user: "root", connectTimeoutSeconds: 10 },
      privateKey: async () => keys.privateKey,
      hostKey: null,
      onHostKey: async () => {},
      bridgeFolder: join(folder, name),
    });
    hosts.push(host);
    return host;
  };

  beforeAll(async () => {
    servers = await startSwarm(fixture, { nodes: 2 });
    const [first] = servers;
    if (first === undefined) throw new Error("A swarm has a node.");
    manager = first;
    await Promise.all(servers.map((server) => server.loadImages(APP_IMAGE)));
    await manager.loadImages(IMAGE);
    folder = await mkdtemp(join("/tmp", "berth-bridge-"));
    const host = hostOf(manager);
    docker = dockerClient(host);
    proxy = serverProxy("CADDY", { ...common(), host, docker });
  });
  const common = () => ({
    instance: fixture.instance,
    folder: "/var/lib/berth/proxy",
    tls: { issuer: "internal" } as const,
    joinsOverlays: true,
  });
  afterAll(async () => {
    await Promise.all(hosts.map((host) => host.close()));
    await rm(folder, { recursive: true, force: true });
  });

  /** A service with a task on each node. @returns Their addresses. */
  async function service(network: string, mark: string): Promise<readonly string[]> {
    const image = (await manager.client.getImage(APP_IMAGE).inspect()).Id;
    await manager.client.createService({
      Name: mark,
      TaskTemplate: {
        ContainerSpec: { Image: image, Command: ["node", "-e", APP], Env: [`MARK=${mark}`], Init: true },
        Networks: [{ Target: network }],
      },
      Mode: { Replicated: { Replicas: 2 } },
      EndpointSpec: { Mode: "dnsrr" },
    });
    return await eventually(async () => {
      const filters = JSON.stringify({ service: [mark] });
      const tasks = (await manager.client.listTasks({ filters })) as readonly {
        readonly NodeID: string;
        readonly Status: { readonly State: string };
        readonly NetworksAttachments: readonly { readonly Addresses: readonly string[] }[];
      }[];
      expect(tasks.map(({ Status }) => Status.State)).toEqual(["running", "running"]);
      expect(new Set(tasks.map(({ NodeID }) => NodeID)).size).toBe(2);
      return tasks.map(({ NetworksAttachments }) => NetworksAttachments[0]?.Addresses[0]?.split("/")[0] ?? "");
    });
  }

  const overlay = (Name: string) =>
    manager.client.createNetwork({ Name, Driver: "overlay", Attachable: true, Labels: ownedLabels(fixture.instance) });
  const upstreams = (addresses: readonly string[]) => addresses.map((address) => ({ host: address, port: 3000 }));
  const answer = async () => (await answerOf(manager.address)).toString();

  test("reaches tasks on every node, in networks that come after its start, and after another took its place", async () => {
    await overlay("first");
    await proxy.ensure();
    const first = await service("first", "one");
    await proxy.put(site("a", upstreams(first)));
    expect(await eventually(answer)).toMatch(/^one /);
    await overlay("second");
    await proxy.put(site("a", upstreams(await service("second", "two"))));
    for (let count = 0; count < 6; count += 1) expect(await answer()).toMatch(/^two /);
    await proxy.ensure({ isAnew: true });
    expect(await eventually(answer)).toMatch(/^two /);
    await proxy.put(site("a", upstreams(first)));
    expect(await answer()).toMatch(/^one /);
  });

  test("serves on another node too, with the certificates of the manager, which answers authorities there", async () => {
    const [, other] = servers;
    if (other === undefined) throw new Error("The swarm has two nodes.");
    await other.loadImages(IMAGE);
    const host = hostOf(other);
    const second = serverProxy("CADDY", {
      ...{ ...common(), host, docker: dockerClient(host) },
      overlays: () => overlaysOf(docker, fixture.instance),
      issuingProxy: () => ({ host: manager.address, port: 80 }),
    });
    const secure = site("a", upstreams(await service("first", "three")), {
      routes: [{ host: "a.test", path: "/", isHttps: true }],
    });
    await second.ensure();
    await Promise.all([proxy.put(secure), second.put(secure)]);
    const [, here = ""] = (await answer()).split(" ");
    const [, there = ""] = (await answerOf(other.address)).toString().split(" ");
    expect(there).not.toBe(here);
    const serial = await eventually(async () => await serialOf(manager.address));
    await expect(serialOf(other.address)).rejects.toThrow();
    const certificates = (await proxy.sharing?.certificates()) ?? [];
    expect(certificates.map(({ name }) => name)).toContain("a.test");
    await second.sharing?.useCertificates(certificates);
    expect(await eventually(async () => await serialOf(other.address))).toBe(serial);
    const challenge = await answerOf(other.address, { path: "/.well-known/acme-challenge/token" });
    expect(challenge.toString()).toBe(`three ${here}`);
    await second.sharing?.useCertificates([]);
    await eventually(() => expect(serialOf(other.address)).rejects.toThrow());
    await second.stop();
  });

  test("loses no request that begins when a node has vanished, which nobody has noticed yet", async () => {
    const ask = (method: string) =>
      Promise.all(Array.from({ length: 12 }, async () => await answerOf(manager.address, { method })));
    // The proxy could keep these connections.
    await ask("GET");
    await servers[1]?.cutNetwork();
    // A proxy may repeat a GET by itself, but not a POST whose connection has failed.
    expect((await ask("POST")).map(String)).toEqual(Array.from({ length: 12 }, () => expect.stringMatching(/^three /)));
    await servers[1]?.joinNetwork();
  });
});
