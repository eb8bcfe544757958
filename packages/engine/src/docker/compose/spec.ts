import type { ReleaseSpec, StackArtifact, StackOptions } from "@berth/core/deploy";

/** A release of several containers. */
export interface StackSpec extends ReleaseSpec {
  readonly artifact: StackArtifact;
  readonly stack: StackOptions;
}

/** The part of its network names that identifies the stack. */
export const scopeOf = ({ resourceUuid, stack }: StackSpec): string => stack.scope ?? resourceUuid;

/** Project name under which the compose tool groups one deployment's containers. */
export const projectName = (deploymentUuid: string): string => `berth-${deploymentUuid}`;

/** Contains the deployment, since two deployments of a resource run side by side for a while. */
export const stackContainerName = (
  name: string,
  { resourceUuid, deploymentUuid }: Pick<ReleaseSpec, "resourceUuid" | "deploymentUuid">,
): string => `${name}-${resourceUuid}-${deploymentUuid}`;
