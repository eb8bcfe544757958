import { containersNamed, containerTitle } from "../compose/replicas.ts";
import { DomainError } from "../errors.ts";
import type { ReleaseContainer } from "./release.ts";

/** A user's script that a deployment runs in a release. */
export interface DeploymentCommand {
  readonly script: string;
  /** The container that runs it, if the resource has several. */
  readonly container: string | null;
}

/** Fields that were never set, or cleared. */
export const deploymentCommand = (script: string | null, container: string | null): DeploymentCommand | null =>
  script ? { script, container: container || null } : null;

const isRunning = ({ state }: Pick<ReleaseContainer, "state">): boolean => state === "running";

/**
 * The container of a release that runs its command; `undefined`: the release has only one.
 * @throws DomainError `deploy.command_failed` with the names of its containers
 */
export function commandContainer(
  { container }: Pick<DeploymentCommand, "container">,
  moment: "pre" | "post",
  containers: readonly Pick<ReleaseContainer, "name" | "number" | "state">[] = [],
): string | undefined {
  const [first] = containers;
  if (first === undefined) return undefined;
  const titles = containers.map(containerTitle);
  // Of replicas, any one that runs will do.
  const areAlike = containers.every(({ name }) => name === first.name);
  if (container === null && areAlike) return containerTitle(containers.find(isRunning) ?? first);
  if (container !== null && containersNamed(containers, container).length > 0) return container;
  const field = `${moment}_deployment_command_container`;
  throw new DomainError(
    "deploy.command_failed",
    container === null
      ? `The ${moment}-deployment command runs in one container of several: say in ${field} in which of ${titles.join(", ")}.`
      : `The release has no container ${container} for the ${moment}-deployment command. Set ${field} to one of ${titles.join(", ")}.`,
  );
}
