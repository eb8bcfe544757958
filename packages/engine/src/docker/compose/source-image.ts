import { chmod, constants, copyFile, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { DomainError } from "@berth/core";
import type { BuildRequest, StackImage } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { containerImageName, inspectImage, type Labels, ownedLabels } from "@berth/docker-client";
import type Docker from "dockerode";
import { isWithin } from "../../builder/is-within.ts";
import { buildImage } from "../builder/build-image.ts";
import { removeContainer } from "../start.ts";
import type { StackBuildPlace } from "./build-place.ts";
import { filesOnly } from "./files-only.ts";

// Files of the source that the compose file mounts are copied into the containers at the start. Small ones are stored
// with the artifact; the others are sent to the server once, as an image without programs, and copied from it.

/** Container names cannot begin with a dot. */
export const SOURCE_IMAGE = ".source";

/** A file of the source, and its path in a container. */
export interface MountedFile {
  readonly container: string;
  readonly path: string;
  readonly mountPath: string;
  readonly mode: number;
}

/** @throws DomainError `deploy.build_failed`, `deploy.cancelled` */
export async function buildSourceImage(
  place: StackBuildPlace,
  request: BuildRequest,
  files: readonly MountedFile[],
  io: WorkIO,
): Promise<StackImage> {
  const jobFolder = join(place.jobFolder, SOURCE_IMAGE);
  const context = join(jobFolder, "context");
  for (const { container, path, mountPath, mode } of files) {
    const staged = join(context, container, mountPath);
    // This writes as Berth's own user on Berth's machine, so it does not rely on where the paths come from.
    if (!isWithin(join(context, container), staged) || !isWithin(context, staged)) {
      throw new DomainError(
        "deploy.build_failed",
        `Container ${container} has no path ${mountPath}. Correct the target.`,
      );
    }
    await mkdir(dirname(staged), { recursive: true });
    await copyFile(path, staged, constants.COPYFILE_FICLONE);
    await chmod(staged, mode);
  }
  const dockerfile = join(jobFolder, "Dockerfile");
  await writeFile(dockerfile, "FROM scratch\nCOPY . /\n", { mode: 0o600 });
  await writeFile(`${dockerfile}.dockerignore`, "", { mode: 0o600 });
  const image = containerImageName(request, SOURCE_NAME);
  io.onLine(`Sends ${files.length} files of the source to the server`, "stdout");
  const nothing = { target: null, args: {}, secrets: {}, secretFiles: {}, isForced: false };
  await buildImage({ context, dockerfile, image, labels: place.labels, ...nothing }, io, place);
  const built = await inspectImage(place.docker, place.host.name, image);
  return { image, digest: null, ...(built === undefined ? {} : { id: built.id }) };
}

const SOURCE_NAME = "_source";

/** Copies each container's files into it, before it starts. */
export async function putSourceFiles(
  { docker, instance }: { readonly docker: Docker; readonly instance: string },
  image: string,
  targets: readonly { readonly id: string; readonly name: string }[],
): Promise<void> {
  const labels: Labels = ownedLabels(instance);
  // Never started, so the command does not matter.
  const holder = await docker.createContainer({ Image: image, Cmd: ["-"], Labels: { ...labels } });
  try {
    for (const { id, name } of targets) {
      const archive = await holder.getArchive({ path: `/${name}/.` });
      const files = Readable.from(filesOnly(archive));
      await docker.getContainer(id).putArchive(files, { path: "/", noOverwriteDirNonDir: "1" });
    }
  } finally {
    await removeContainer(holder);
  }
}
