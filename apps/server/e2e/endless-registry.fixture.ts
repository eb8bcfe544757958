import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { DockerFixture } from "@berth/testing";
import type { EndlessImage } from "./placed-resource.fixture.ts";

/** A registry whose pulls never end: it serves manifests, but layers only very slowly. */
export interface EndlessRegistry {
  /** An image for this machine's engine, which uses plain HTTP on loopback only; a new one each time. */
  here(): EndlessImage;
  /** An image for machines in the suite's network. */
  overSsh(): EndlessImage;
  /** Number of layer requests in progress. */
  waiting(): number;
  close(): void;
}

export async function endlessRegistry(docker: DockerFixture): Promise<EndlessRegistry> {
  const manifests: { readonly tag: string; readonly text: string; readonly digest: string }[] = [];
  const waiting = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.url === "/v2/") return void response.end();
    const [, wanted = ""] = /^\/v2\/endless\/\w+\/(.+)$/.exec(request.url ?? "") ?? [];
    if (wanted === CONFIG.digest) return void response.end(CONFIG.text);
    const manifest = manifests.find(({ tag, digest }) => [tag, digest].includes(wanted));
    if (manifest !== undefined) {
      const { text, digest } = manifest;
      const headers = { "content-type": MANIFEST, "content-length": text.length, "docker-content-digest": digest };
      return void response.writeHead(200, headers).end(request.method === "HEAD" ? "" : text);
    }
    response.writeHead(200, { "content-length": LENGTH });
    // An engine breaks off a pull when it has progress to tell and nobody listens: so there is some, a hundredth each.
    const trickle = setInterval(() => response.write(Buffer.alloc(LENGTH / 100)), 1000);
    waiting.add(response);
    response.once("close", () => {
      clearInterval(trickle);
      waiting.delete(response);
    });
  });
  // Clients that begin with TLS shall retry without.
  server.on("clientError", (_cause, socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  const { port } = server.address() as AddressInfo; // It listens on TCP.
  const { IPAM } = await docker.client.getNetwork(await docker.network()).inspect();
  // This machine has the first address of the network.
  const address = `${IPAM?.Config?.[0]?.Subnet?.replace(/0\/\d+$/, "1")}:${port}`;
  const endlessImage = (registry: string): EndlessImage => {
    const tag = String(manifests.length);
    manifests.push({ tag, ...described(manifestOf(tag)) });
    return { image: `${registry}/endless:${tag}`, url: `http://${address}/` };
  };
  return {
    here: () => endlessImage(`127.0.0.1:${port}`),
    overSsh: () => endlessImage(address),
    waiting: () => waiting.size,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const described = (value: unknown) => {
  const text = JSON.stringify(value);
  return { text, digest: `sha256:${createHash("sha256").update(text).digest("hex")}` };
};

const LENGTH = 1_000_000;
const MANIFEST = "application/vnd.docker.distribution.manifest.v2+json";
const CONFIG = described({ os: "linux", config: {}, rootfs: { type: "layers", diff_ids: [described("").digest] } });

/** An engine asks for a layer once, whatever number of images wait for it: so each has its own. */
const manifestOf = (tag: string) => ({
  schemaVersion: 2,
  mediaType: MANIFEST,
  config: {
    mediaType: "application/vnd.docker.container.image.v1+json",
    size: CONFIG.text.length,
    digest: CONFIG.digest,
  },
  layers: [
    { mediaType: "application/vnd.docker.image.rootfs.diff.tar.gzip", size: LENGTH, digest: described(tag).digest },
  ],
});
