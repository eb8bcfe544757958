import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { ImageArtifact, ReleaseRef, Upstream } from "@berth/core/deploy";
import { dockerClient, releaseFilter, TASK_ROLE } from "@berth/docker-client";
import type { SshHost } from "@berth/host";
import { type DockerFixture, type SwarmServer, startSwarm } from "@berth/testing";
import type Docker from "dockerode";
import type { Answer } from "../conformance.fixture.ts";
import { composeTool } from "../docker/compose/tool.ts";
import { type DockerWorld, dockerWorld, NO_BUILDER } from "../docker/docker.fixture.ts";
import { dockerImages } from "../docker/images.ts";
import { farHost } from "../docker/server.fixture.ts";
import { type SwarmEngine, type SwarmEngineOptions, swarmEngine } from "./engine.ts";
import type { SwarmNode } from "./nodes.ts";

/** A Berth instance on a swarm of servers in containers. */
export interface SwarmWorld {
  readonly servers: readonly SwarmServer[];
  readonly nodes: readonly SwarmNode[];
  readonly manager: SwarmNode;
  /** An image of the conformance application, on the manager only. */
  image(...lines: string[]): Promise<ImageArtifact>;
  engine(options?: Partial<SwarmEngineOptions>): SwarmEngine;
  /** Asks an application in the cluster. */
  ask(engine: SwarmEngine, upstream: Upstream, path: string): Promise<Answer>;
  containersOf(ref: Partial<ReleaseRef>): Promise<readonly Docker.ContainerInfo[]>;
  close(): Promise<void>;
}

export async function swarmWorld(
  fixture: DockerFixture,
  size: { readonly nodes: number; readonly managers?: number },
): Promise<SwarmWorld> {
  const servers = await startSwarm(fixture, size);
  const folder = mkdtempSync(join(tmpdir(), "berth-swarm-"));
  const { instance } = fixture;
  const local: DockerWorld = dockerWorld(fixture);
  const loaded = new Map<string, Promise<void>>();
  const hosts: SshHost[] = [];
  const engines: SwarmEngine[] = [];
  const nodes = servers.map((server): SwarmNode => {
    const far = { ip: server.address, privateKey: server.keys.privateKey };
    const host = farHost(far, folder, { name: server.name });
    hosts.push(host);
    const docker = dockerClient(host);
    return {
      id: server.nodeId,
      name: server.name,
      host,
      docker,
      images: dockerImages({ docker, server: server.name }),
      builder: NO_BUILDER,
      compose: composeTool({ host, folder }),
    };
  });
  const [manager] = nodes;
  const [first] = servers;
  if (manager === undefined || first === undefined) throw new Error("A swarm has a node.");

  return {
    servers,
    nodes,
    manager,
    async image(...lines) {
      const artifact = await local.image(...lines);
      const loading = loaded.get(artifact.image) ?? first.loadImages(artifact.image);
      loaded.set(artifact.image, loading);
      await loading;
      return artifact;
    },
    engine(options = {}) {
      const { host, docker } = manager;
      const made = swarmEngine({
        ...{ host, docker, instance, builder: NO_BUILDER, nodes: async () => nodes, network: "berth" },
        ...options,
      });
      engines.push(made);
      return made;
    },
    async ask(engine, upstream, path) {
      const stream = await engine.connect(upstream);
      const asked = request({ path, headers: { connection: "close" }, createConnection: () => stream }).end();
      const [response] = (await once(asked, "response")) as [IncomingMessage];
      // A node may be taken down before its connection is closed; an answer that breaks off fails by itself.
      asked.on("error", () => undefined);
      return { status: response.statusCode ?? 0, body: await text(response) };
    },
    async containersOf(ref) {
      const filters = { ...releaseFilter(instance, ref, TASK_ROLE) };
      const found = await Promise.all(nodes.map(({ docker }) => docker.listContainers({ all: true, filters })));
      return found.flat();
    },
    async close() {
      await Promise.all(engines.map((engine) => engine.close()));
      await local.close();
      await Promise.all(hosts.map((host) => host.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
