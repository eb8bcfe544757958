import { DomainError } from "@berth/core";
import { LABELS, type Labels, labelOf } from "./labels.ts";

/** Reference of an image that Berth built or pulled for one deployment. */
export interface ImageRef {
  readonly resourceUuid: string;
  readonly deploymentUuid: string;
}

/** The repository that holds every image of a resource, on the server's own engine only. */
export const imageRepository = (resourceUuid: string): string => `${NAMESPACE}${plain(resourceUuid)}`;

/** The name under which a deployment's image lies on the server: nobody else gives it. */
export const imageName = ({ resourceUuid, deploymentUuid }: ImageRef): string =>
  `${imageRepository(resourceUuid)}:${plain(deploymentUuid)}`;

/** Image name of one of several containers of a deployment. Names in compose files are valid parts of tags. */
export const containerImageName = (ref: ImageRef, container: string): string => `${imageName(ref)}.${container}`;

/** Whether a name on the server is one of this deployment. */
export const isImageOf = (ref: ImageRef, name: string): boolean =>
  name === imageName(ref) || name.startsWith(`${imageName(ref)}.`);

/** Whose a name on the server is; `undefined`: not one that Berth gives. */
export function refIn(name: string): ImageRef | undefined {
  const [, resourceUuid, deploymentUuid] = /^berth\/([a-z0-9-]+):([a-z0-9-]+)(?:\.[\w.-]+)?$/.exec(name) ?? [];
  return resourceUuid && deploymentUuid ? { resourceUuid, deploymentUuid } : undefined;
}

/**
 * The control plane that built an image under this name; `undefined`: it was pulled. What is pulled has whatever labels
 * its maker wrote, who knew of no deployment to come.
 */
export function builtBy(name: string, labels: Labels | null | undefined): string | undefined {
  const ref = refIn(name);
  const isBuilt =
    labelOf(labels, LABELS.resource) === ref?.resourceUuid &&
    labelOf(labels, LABELS.deployment) === ref?.deploymentUuid;
  return ref !== undefined && isBuilt ? labelOf(labels, LABELS.instance) : undefined;
}

/** Whether a name is one of those that Berth gives, which no user may ask for: it may be another team's. */
export const isOwnName = (name: string): boolean => /^(docker\.io\/)?berth\//.test(name);

const NAMESPACE = "berth/";

function plain(uuid: string): string {
  if (/^[a-z0-9][a-z0-9-]*$/.test(uuid)) return uuid;
  throw new DomainError("internal.error", "An identifier is not a valid part of an image name.");
}
