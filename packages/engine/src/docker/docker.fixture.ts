import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { Readable } from "node:stream";
import type { ImageArtifact, ReleaseSpec } from "@berth/core";
import type Docker from "dockerode";
import { CONFORMANCE_APP } from "../conformance-app.ts";
import { rawTar } from "../git/tar.fixture.ts";
import { localHost } from "../host/local-host.ts";
import type { ImageBuilder } from "./builder.ts";
import { DOCKER_SOCKET, dockerClient } from "./client.ts";
import { type DockerEngine, type DockerEngineOptions, dockerEngine } from "./engine.ts";
import { LABELS } from "./labels.ts";

/** Whether an engine answers here; says so in one line when not. */
export const hasDocker: boolean = await new Promise((resolve) => {
  const ping = request({ socketPath: DOCKER_SOCKET, path: "/_ping", timeout: 2000 }, (answer) => {
    answer.resume();
    resolve(answer.statusCode === 200);
  });
  ping.on("timeout", () => ping.destroy());
  ping.on("error", () => {
    console.log("The suites on Docker are skipped: no engine answers on its socket.");
    resolve(false);
  });
  ping.end();
});

/** One instance of Berth on the engine of this machine; what it made is gone with `close`. */
export interface DockerWorld {
  readonly docker: Docker;
  readonly instance: string;
  readonly network: string;
  /** The application that does what it is asked over HTTP. */
  image(): Promise<ImageArtifact>;
  /** An image of these lines upon that of Node, with the application in it. */
  imageOf(...lines: string[]): Promise<ImageArtifact>;
  engine(options?: Partial<DockerEngineOptions>): DockerEngine;
  close(): Promise<void>;
}

export function dockerWorld(): DockerWorld {
  const host = localHost("test");
  const docker = dockerClient(host);
  const instance = `test-${randomBytes(6).toString("hex")}`;
  const network = `berth-${instance}`;
  const images = new Map<string, Promise<ImageArtifact>>();
  const engines: DockerEngine[] = [];

  async function build(name: string, lines: readonly string[]): Promise<ImageArtifact> {
    const dockerfile = ["FROM node:24-alpine", "WORKDIR /app", "COPY app.mjs .", 'CMD ["node", "app.mjs"]', ...lines];
    const archive = tarOf({ Dockerfile: dockerfile.join("\n"), "app.mjs": CONFORMANCE_APP });
    const labels = { "berth.test": instance };
    const stream = await docker.buildImage(Readable.from([archive]), { t: name, labels });
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(stream, (error, output: readonly { readonly error?: string }[]) => {
        const failed = output?.find((one) => one.error !== undefined);
        if (error || failed) reject(error ?? new Error(failed?.error));
        else resolve();
      });
    });
    return { type: "image", image: name };
  }

  const world: DockerWorld = {
    docker,
    instance,
    network,
    image: () => world.imageOf(),
    imageOf(...lines) {
      const key = lines.join("\n");
      const image = images.get(key) ?? build(`berth-${instance}-${images.size}`, lines);
      images.set(key, image);
      return image;
    },
    engine(options = {}) {
      const engine = dockerEngine({ host, docker, instance, builder: NO_BUILDER, network, ...options });
      engines.push(engine);
      return engine;
    },
    async close() {
      for (const engine of engines) await engine.close({ stopReleases: false });
      const filters = { label: [`${LABELS.instance}=${instance}`] };
      for (const { Id } of await docker.listContainers({ all: true, filters })) {
        await docker.getContainer(Id).remove({ force: true, v: true });
      }
      const { Volumes } = await docker.listVolumes({ filters });
      for (const { Name } of Volumes ?? []) await docker.getVolume(Name).remove();
      for (const { Id } of await docker.listNetworks({ filters })) await docker.getNetwork(Id).remove();
      for (const image of images.values()) {
        const made = await image.catch(() => undefined);
        if (made !== undefined) await docker.getImage(made.image).remove({ force: true });
      }
    },
  };
  return world;
}

const NO_BUILDER: ImageBuilder = {
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
  name: "test",
  artifact,
  env: {},
  ports: [3000],
  storages: [],
  limits: { memoryBytes: null, cpus: null },
  ...change,
});

export const io = (signal = new AbortController().signal) => ({ signal, onLine() {} });

function tarOf(files: Readonly<Record<string, string>>): Buffer {
  return rawTar(Object.entries(files).map(([path, content]) => ({ path, content })));
}
