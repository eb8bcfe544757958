import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import type { ImageArtifact, ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import { dockerClient, releaseFilter } from "@berth/docker-client";
import { localHost } from "@berth/host";
import { rawTar } from "@berth/source/testing";
import type { DockerFixture } from "@berth/testing";
import type Docker from "dockerode";
import { CONFORMANCE_APP } from "../conformance-app.ts";
import type { ImageBuilder } from "./builder.ts";
import { type DockerEngine, type DockerEngineOptions, dockerEngine } from "./engine.ts";

/** Images that the engine's suites need. */
export const IMAGES = ["node:24-alpine"];

/** A Berth instance on this machine's engine. */
export interface DockerWorld {
  readonly docker: Docker;
  readonly instance: string;
  /** An image of the conformance application, with these lines at the end of its Dockerfile. */
  image(...lines: string[]): Promise<ImageArtifact>;
  engine(options?: Partial<DockerEngineOptions>): Promise<DockerEngine>;
  containersOf(ref: Partial<ReleaseRef>): Promise<Docker.ContainerInfo[]>;
  /** Removes everything that this suite created on the engine. */
  close(): Promise<void>;
}

export function dockerWorld(fixture: DockerFixture): DockerWorld {
  const { client: docker, instance } = fixture;
  const images = new Map<string, Promise<ImageArtifact>>();
  const engines: DockerEngine[] = [];

  async function build(lines: readonly string[]): Promise<ImageArtifact> {
    const image = fixture.name("image");
    const dockerfile = ["FROM node:24-alpine", "WORKDIR /app", "COPY app.mjs .", 'CMD ["node", "app.mjs"]', ...lines];
    const archive = rawTar([
      { path: "Dockerfile", content: dockerfile.join("\n") },
      { path: "app.mjs", content: CONFORMANCE_APP },
    ]);
    const stream = await docker.buildImage(Readable.from([archive]), { t: image, labels: { ...fixture.labels } });
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(stream, (error, output: readonly { readonly error?: string }[]) => {
        const failed = output?.find((one) => one.error !== undefined);
        if (error || failed) reject(error ?? new Error(failed?.error));
        else resolve();
      });
    });
    return { type: "image", image };
  }

  return {
    docker,
    instance,
    image(...lines) {
      const key = lines.join("\n");
      const image = images.get(key) ?? build(lines);
      images.set(key, image);
      return image;
    },
    async engine(options = {}) {
      const host = localHost("test");
      const network = await fixture.network();
      const own = dockerClient(host);
      const engine = dockerEngine({ host, docker: own, instance, builder: NO_BUILDER, network, ...options });
      engines.push(engine);
      return engine;
    },
    containersOf: (ref) => docker.listContainers({ all: true, filters: { ...releaseFilter(instance, ref) } }),
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close({ stopReleases: false })));
    },
  };
}

export const NO_BUILDER: ImageBuilder = {
  buildPacks: ["dockerfile"],
  build: () => Promise.reject(new Error("Nothing is built here.")),
  removeImage: async () => {},
  removeImages: async () => {},
};

/** A release of the conformance application. */
export const specOf = (artifact: ImageArtifact, change: Partial<ReleaseSpec> = {}): ReleaseSpec => ({
  resourceUuid: `resource-${randomBytes(6).toString("hex")}`,
  deploymentUuid: `deployment-${randomBytes(6).toString("hex")}`,
  resourceNumber: 1,
  kind: "application",
  name: "test",
  artifact,
  env: {},
  ports: [3000],
  storages: [],
  limits: { memoryBytes: null, cpus: null },
  ...change,
});

export const io = (signal = new AbortController().signal) => ({ signal, onLine() {} });
