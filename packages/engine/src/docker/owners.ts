import { DomainError } from "@berth/core";
import type { ServerObject } from "@berth/core/compose";
import type { ObjectOwner } from "@berth/core/deploy";
import { LABELS, type Labels, labelOf, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

/** Owners of existing objects, read from their labels. @throws DomainError `deploy.start_failed` for an invalid name */
export async function ownersOf(
  { docker, instance }: { readonly docker: Docker; readonly instance: string },
  objects: readonly ServerObject[],
): Promise<readonly ObjectOwner[]> {
  // Names become part of the request path.
  const odd = objects.find(({ name }) => !NAME.test(name));
  if (odd !== undefined) {
    const shown = odd.name.slice(0, 100).replace(/\p{C}/gu, "?");
    throw new DomainError(
      "deploy.start_failed",
      `${shown} is not a valid name of a ${odd.type}. Correct the compose file.`,
    );
  }
  return await Promise.all(
    objects.map(async ({ type, name }) => {
      const labels = await labelsOf(docker, type, name);
      const owner = labelOf(labels, LABELS.instance);
      if (owner === undefined) return undefined;
      return { isOurs: owner === instance, resourceUuid: labelOf(labels, LABELS.resource) ?? null };
    }),
  );
}

/** Names and ids that engines allow. */
const NAME = /^[A-Za-z0-9][\w.-]*$/;

async function labelsOf(docker: Docker, type: ServerObject["type"], name: string): Promise<Labels | null | undefined> {
  try {
    return await READ[type](docker, name);
  } catch (cause) {
    if (statusCodeOf(cause) === 404) return undefined;
    throw cause;
  }
}

const READ = {
  network: async (docker, name) => (await docker.getNetwork(name).inspect()).Labels,
  volume: async (docker, name) => (await docker.getVolume(name).inspect()).Labels,
  container: async (docker, name) => (await docker.getContainer(name).inspect()).Config.Labels,
} satisfies Record<ServerObject["type"], (docker: Docker, name: string) => Promise<Labels | null | undefined>>;
