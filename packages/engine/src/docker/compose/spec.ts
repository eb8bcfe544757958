import type { ReleaseSpec, StackArtifact, StackOptions } from "@berth/core/deploy";

/** A release of several containers. */
export interface StackSpec extends ReleaseSpec {
  readonly artifact: StackArtifact;
  readonly stack: StackOptions;
}

/** The part of its networks' names that identifies it. */
export const scopeOf = ({ resourceUuid, stack }: StackSpec): string => stack.scope ?? resourceUuid;

/** Names the containers of one deployment for the compose tool. */
export const projectName = (deploymentUuid: string): string => `berth-${deploymentUuid}`;

/** Two deployments of one resource stand side by side for a while, so its own name alone would not do. */
export const stackContainerName = (
  name: string,
  { resourceUuid, deploymentUuid }: Pick<ReleaseSpec, "resourceUuid" | "deploymentUuid">,
): string => `${name}-${resourceUuid}-${deploymentUuid}`;
