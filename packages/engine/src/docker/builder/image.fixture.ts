import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { BuildConfig, BuildRequest, ImageArtifact } from "@berth/core/deploy";
import { BUILD_CONFIG as CONFIG } from "@berth/core/testing";
import { DOCKER_SOCKET, dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import type Docker from "dockerode";
import { expect } from "vitest";
import { workplaces } from "../../workplace.fixture.ts";
import type { ImageBuilder } from "../builder.ts";
import { type ImageBuilderOptions, imageBuilder } from "./image-builder.ts";

export const hasEngine = await new Promise<boolean>((resolve) => {
  const socket = connect(DOCKER_SOCKET, () => resolve(true));
  socket.once("connect", () => socket.destroy());
  socket.once("error", () => resolve(false));
});

export interface ImageSuite {
  readonly docker: Docker;
  readonly builder: ImageBuilder;
  /** Another builder for the same engine, with another PATH. */
  withPath(path: string): ImageBuilder;
  readonly folder: string;
  readonly resourceUuid: string;
  /** Output of all builds. */
  readonly lines: string[];
  request(files: Files, config?: Partial<BuildConfig>, more?: Partial<BuildRequest>): BuildRequest;
  build(
    files: Files,
    config?: Partial<BuildConfig>,
    more?: Partial<BuildRequest>,
    signal?: AbortSignal,
  ): Promise<ImageArtifact>;
  /** Output of the image's command, or of another one. */
  output(image: string, command?: readonly string[]): Promise<string>;
  /** Answers of the image on a port: status, and body on success. */
  served(
    image: string,
    port: number,
    paths: readonly string[],
    env?: Readonly<Record<string, string>>,
  ): Promise<string[]>;
  close(): Promise<void>;
}

export function oneImage(artifact: Awaited<ReturnType<ImageBuilder["build"]>>): ImageArtifact {
  if (artifact.type !== "image") throw new Error("Several images were built.");
  return artifact;
}

/** Content by path; `{ link }` makes a symbolic link. */
export type Files = Readonly<Record<string, string | { readonly link: string }>>;

/** A builder on this machine's engine; all its images are removed at the end. */
export function imageSuite(options: Partial<ImageBuilderOptions> = {}): ImageSuite {
  const host = localHost("here");
  const docker = dockerClient(host);
  const folder = mkdtempSync(join(tmpdir(), "berth-image-"));
  const resourceUuid = `t${randomBytes(8).toString("hex")}`;
  // Other users pass through it, as in production.
  chmodSync(folder, 0o711);
  const { inWorkplace, close } = workplaces(folder);
  const own = { host, inWorkplace, instanceId: "test", folder: join(folder, "builds"), ...options };
  const suite: { builder: ImageBuilder } = { builder: imageBuilder(own) };
  const lines: string[] = [];
  let count = 0;
  const request: ImageSuite["request"] = (files, config = {}, more = {}) => {
    const sourceFolder = join(folder, `source-${++count}`);
    mkdirSync(sourceFolder);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(sourceFolder, path)), { recursive: true });
      if (typeof content === "string") writeFileSync(join(sourceFolder, path), content);
      else symlinkSync(content.link, join(sourceFolder, path));
    }
    return {
      resourceUuid,
      // Unique on the machine: the processes of a build are found by it.
      deploymentUuid: `d${count}-${resourceUuid}`,
      resourceNumber: 1,
      sourceFolder,
      config: { ...CONFIG, build_pack: "dockerfile", ...config },
      env: {},
      isForced: false,
      ...more,
    };
  };
  return Object.assign(suite, {
    docker,
    withPath: (path: string) => imageBuilder({ ...own, path }),
    folder,
    resourceUuid,
    lines,
    request,
    async build(files, config, more, signal = new AbortController().signal) {
      const io = { signal, onLine: (line: string) => void lines.push(line) };
      return oneImage(await suite.builder.build(request(files, config, more), io));
    },
    async output(image, command) {
      const container = await docker.createContainer({
        Image: image,
        ...(command === undefined ? {} : { Cmd: [...command], Entrypoint: [] }),
        Labels: { "berth.test": resourceUuid },
        HostConfig: { NetworkMode: "none", Init: true },
        Tty: true,
      });
      try {
        const stream = await container.attach({ stream: true, stdout: true, stderr: true });
        await container.start();
        let text = "";
        for await (const chunk of stream) text += chunk.toString();
        return text.replaceAll("\r\n", "\n");
      } finally {
        await container.remove({ force: true });
      }
    },
    async served(image, port, paths, env = {}) {
      const Env = Object.entries(env).map(([name, value]) => `${name}=${value}`);
      const container = await docker.createContainer({ Image: image, Env, Labels: { "berth.test": resourceUuid } });
      try {
        await container.start();
        const { NetworkSettings } = await container.inspect();
        const base = `http://${NetworkSettings.Networks.bridge?.IPAddress}:${port}`;
        await expect
          .poll(
            () =>
              fetch(base).then(
                () => true,
                () => false,
              ),
            { timeout: 30_000 }, // A BEAM or a JVM starts slowly beside other tests.
          )
          .toBe(true);
        const answers: string[] = [];
        for (const path of paths) {
          const answer = await fetch(`${base}${path}`);
          const text = await answer.text();
          answers.push(answer.ok ? `${answer.status} ${text}` : String(answer.status));
        }
        return answers;
      } finally {
        await container.remove({ force: true });
      }
    },
    async close() {
      await suite.builder.removeImages(resourceUuid);
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  } satisfies Omit<ImageSuite, "builder">);
}
