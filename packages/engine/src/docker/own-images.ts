import { builtBy, engineError, type ImageRef, imageRepository, isImageOf, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

export interface ImagePlace {
  readonly docker: Docker;
  /** Name of the server, for messages. */
  readonly server: string;
  /** Identifier of this control plane, used in the labels of everything it creates. */
  readonly instance: string;
}

/**
 * Removes the images of a deployment from an engine, or those of all deployments of a resource. Idempotent.
 *
 * Only names are removed: an image with other names stays.
 */
export async function removeOwnImages(
  place: ImagePlace,
  { resourceUuid, deploymentUuid }: Pick<ImageRef, "resourceUuid"> & Partial<ImageRef>,
): Promise<void> {
  for (const name of await namesIn(place, resourceUuid)) {
    if (deploymentUuid === undefined || isImageOf({ resourceUuid, deploymentUuid }, name)) await remove(place, name);
  }
}

/** All image names that this control plane gave for the resource; names by others are not included. */
async function namesIn({ docker, server, instance }: ImagePlace, resourceUuid: string): Promise<readonly string[]> {
  const repository = imageRepository(resourceUuid);
  const images = await docker
    .listImages({ filters: { reference: [`${repository}:*`] } })
    .catch((cause: unknown) => Promise.reject(engineError(server, cause)));
  return images.flatMap(({ RepoTags, Labels }) =>
    (RepoTags ?? []).filter(
      (name) => name.startsWith(`${repository}:`) && (builtBy(name, Labels) ?? instance) === instance,
    ),
  );
}

async function remove({ docker, server }: ImagePlace, name: string): Promise<void> {
  try {
    await docker.getImage(name).remove({ noprune: false });
  } catch (cause) {
    if (statusCodeOf(cause) === 404) return;
    throw engineError(server, cause);
  }
}
