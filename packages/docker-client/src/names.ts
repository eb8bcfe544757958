import { DomainError } from "@berth/core";
import { LABELS, type Labels, labelOf } from "./labels.ts";

/** Reference of an image that Berth built or pulled for one deployment. */
export interface ImageRef {
  readonly resourceUuid: string;
  readonly deploymentUuid: string;
}

/** The repository of all images of a resource, which exists on the server's own engine only. */
export const imageRepository = (resourceUuid: string): string => `${NAMESPACE}${plain(resourceUuid)}`;

/** Name of a deployment's image on the server, which only Berth uses. */
export const imageName = ({ resourceUuid, deploymentUuid }: ImageRef): string =>
  `${imageRepository(resourceUuid)}:${plain(deploymentUuid)}`;

/** Image name of one of several containers of a deployment. Names in compose files are valid parts of tags. */
export const containerImageName = (ref: ImageRef, container: string): string => `${imageName(ref)}.${container}`;

/** Whether an image name belongs to this deployment. */
export const isImageOf = (ref: ImageRef, name: string): boolean =>
  name === imageName(ref) || name.startsWith(`${imageName(ref)}.`);

/** Owner of an image name; `undefined`: the name is not one of Berth's. */
export function refIn(name: string): ImageRef | undefined {
  const [, resourceUuid, deploymentUuid] = /^berth\/([a-z0-9-]+):([a-z0-9-]+)(?:\.[\w.-]+)?$/.exec(name) ?? [];
  return resourceUuid && deploymentUuid ? { resourceUuid, deploymentUuid } : undefined;
}

/**
 * The control plane that built the image of this name; `undefined`: it was pulled. A pulled image may have any labels,
 * but its maker could not know the uuid of a later deployment.
 */
export function builtBy(name: string, labels: Labels | null | undefined): string | undefined {
  const ref = refIn(name);
  const isBuilt =
    labelOf(labels, LABELS.resource) === ref?.resourceUuid &&
    labelOf(labels, LABELS.deployment) === ref?.deploymentUuid;
  return ref !== undefined && isBuilt ? labelOf(labels, LABELS.instance) : undefined;
}

/** Whether a name is reserved for Berth. Users may not request those: they may belong to another team. */
export const isOwnName = (name: string): boolean => /^(docker\.io\/)?berth\//.test(name);

const NAMESPACE = "berth/";

function plain(uuid: string): string {
  if (/^[a-z0-9][a-z0-9-]*$/.test(uuid)) return uuid;
  throw new DomainError("internal.error", "An identifier is not a valid part of an image name.");
}
