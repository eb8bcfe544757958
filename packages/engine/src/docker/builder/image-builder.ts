import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import type { BuildRequest, ImageArtifact, StackArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import {
  DOCKER_SOCKET,
  dockerClient,
  engineError,
  type ImageRef,
  imageName,
  imageRepository,
  inspectImage,
  LABELS,
  type LoginSources,
  ownedLabels,
  pullImage,
  readLogins,
  uninherited,
  wantedImage,
} from "@berth/docker-client";
import type { Host, PrivateHosts } from "@berth/host";
import type Docker from "dockerode";
import type { InWorkplace } from "../../builder/build-place.ts";
import type { ImageBuilder } from "../builder.ts";
import { removeOwnImages } from "../own-images.ts";
import type { ImageReplacements } from "./base-image.ts";
import { type BuildShares, limitBuilds } from "./build-group.ts";
import { buildImage } from "./build-image.ts";
import type { ToolFetcher } from "./tool-fetcher.ts";

export interface ImageBuilderOptions extends LoginSources {
  /** The server whose engine stores and starts the images. */
  readonly host: Host;
  /** Path of the engine's socket on the server. Default: Docker's own. */
  readonly socketPath?: string | undefined;
  /** Identifier of this control plane, used in the labels of everything it creates. */
  readonly instanceId: string;
  /** A folder on Berth's machine for temporary files of builds. Nobody else may read it. */
  readonly folder: string;
  /** Where nixpacks and railpack run: they read untrusted sources on Berth's machine. */
  readonly inWorkplace: InWorkplace;
  /** PATH in which nixpacks and railpack are looked up. Default: the system's folders. */
  readonly path?: string | undefined;
  /** Images that the operator uses in Berth's own Dockerfiles. Default: none. */
  readonly replacements?: ImageReplacements | undefined;
  /** Fetches nixpacks and railpack where they are not installed. Default: they are done without. */
  readonly fetcher?: ToolFetcher | undefined;
  /** For an engine on Berth's own machine: the private hosts that its builds may download from. Default: any address. */
  readonly privateHosts?: (() => PrivateHosts | undefined) | undefined;
  /** What the builds of the server together may take of it. Default: everything. */
  readonly shares?: BuildShares | undefined;
}

/**
 * Builds images with a server's own BuildKit, and pulls images that exist already. The code that prepares a source is
 * loaded with the first build.
 */
export function imageBuilder(options: ImageBuilderOptions): ImageBuilder {
  const { host, instanceId: instance } = options;
  const docker = dockerClient(host, options.socketPath);
  const place = { docker, server: host.name, instance };
  return {
    buildPacks: ["nixpacks", "railpack", "static", "dockerfile", "dockerimage", "dockercompose"],
    async build(request, io) {
      try {
        return await build(options, docker, request, io);
      } catch (error) {
        if (!io.signal.aborted || isDomainError(error, "deploy.cancelled")) throw error;
        throw new DomainError("deploy.cancelled", "The build was cancelled.", { cause: error });
      }
    },
    removeImage: (ref) => removeOwnImages(place, ref),
    removeImages: (resourceUuid) => removeOwnImages(place, { resourceUuid }),
  };
}

async function build(
  options: ImageBuilderOptions,
  docker: Docker,
  request: BuildRequest,
  io: WorkIO,
): Promise<ImageArtifact | StackArtifact> {
  const { host, folder, path = SYSTEM_PATH } = options;
  const image = imageName(request);
  const logins = await readLogins(options);
  if (request.config.build_pack === "dockerimage") {
    return await takeImage({ docker, server: host.name, logins }, request, image, io);
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const jobFolder = await mkdtemp(join(folder, "build-"));
  const labels = labelsOf(options.instanceId, request);
  const socketPath = options.socketPath ?? DOCKER_SOCKET;
  const privateHosts = options.privateHosts?.();
  const guard = privateHosts && { privateHosts, folder: jobFolder };
  const { shares } = options;
  const limited = async () => {
    if (shares === undefined) return undefined;
    const { group, gap } = await limitBuilds({ host, docker, shares });
    if (gap !== undefined) io.onLine(`Warning: ${gap}`, "stderr");
    return group;
  };
  try {
    if (request.compose !== undefined || request.config.build_pack === "dockercompose") {
      const { buildStack } = await import("../compose/build.ts");
      return await buildStack(
        { host, docker, socketPath, jobFolder, logins, labels, guard, group: await limited() },
        request,
        io,
      );
    }
    const { prepareSource } = await import("./source.ts");
    const { steps, ...source } = await prepareSource(request, io, {
      jobFolder,
      path,
      inWorkplace: options.inWorkplace,
      keyFolder: folder,
      fetcher: options.fetcher,
      replacements: options.replacements ?? new Map(),
    });
    const target = { ...source, image, labels, isForced: request.isForced };
    await buildImage(target, io, { host, socketPath, logins, steps, guard, group: await limited() });
    const built = await inspectImage(docker, host.name, image);
    if (built === undefined) throw new DomainError("deploy.build_failed", "The built image is missing.");
    io.onLine(`Built ${image}`, "stdout");
    return { type: "image", image, id: built.id, digest: null, ports: built.ports } satisfies ImageArtifact;
  } finally {
    await rm(jobFolder, { recursive: true, force: true });
  }
}

/**
 * Gives a pulled image the deployment's own name, which keeps it as long as a rollback to the deployment is possible.
 */
async function takeImage(
  place: Parameters<typeof pullImage>[0],
  request: BuildRequest,
  image: string,
  io: WorkIO,
): Promise<ImageArtifact> {
  const { id, digest, ports } = await pullImage(place, wantedImage(request.config), io);
  try {
    await place.docker.getImage(id).tag({ repo: imageRepository(request.resourceUuid), tag: request.deploymentUuid });
  } catch (cause) {
    throw engineError(place.server, cause);
  }
  return { type: "image", image, id, digest, ports };
}

const labelsOf = (instanceId: string, { resourceUuid, deploymentUuid }: ImageRef) =>
  uninherited({
    ...ownedLabels(instanceId),
    [LABELS.kind]: "application",
    [LABELS.resource]: resourceUuid,
    [LABELS.deployment]: deploymentUuid,
  });

const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
