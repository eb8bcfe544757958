import type { CleanupOperation, SeenObject, ServerCleaner } from "@berth/core/server";
import { builtBy, engineError, LABELS, labelOf, refIn, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

export interface DockerCleanerOptions {
  readonly docker: Docker;
  /** Name of the server, for messages. */
  readonly server: string;
  /** Identifier of this control plane, used in the labels of everything it creates. */
  readonly instance: string;
}

/** Lists the objects that Berth created on an engine, and removes those in a plan. */
export function dockerCleaner(options: DockerCleanerOptions): ServerCleaner {
  const { docker, server, instance } = options;
  const seen = () => observe(docker);
  return {
    instance,
    observe: () => seen().catch((cause: unknown) => Promise.reject(engineError(server, cause))),
    async remove(operation) {
      try {
        // Looked up again: since the plan was made, the name may have passed to another object.
        const now = (await seen()).find(({ type, id, name }) => isSame(operation, { type, id, name }));
        if (now === undefined) return "gone";
        if (now.isInUse) return "stays";
        await REMOVALS[operation.type](docker, operation);
        return "removed";
      } catch (cause) {
        if (statusCodeOf(cause) === 404) return "gone";
        // It is in use by now, or another image is based on it.
        if (statusCodeOf(cause) === 409) return "stays";
        throw engineError(server, cause);
      }
    },
  };
}

const isSame = (one: CleanupOperation, other: Pick<SeenObject, "type" | "id" | "name">): boolean =>
  one.type === other.type && one.id === other.id && one.name === other.name;

/** Never forced: the engine itself refuses to remove objects in use. */
const REMOVALS: Readonly<
  Record<CleanupOperation["type"], (docker: Docker, operation: CleanupOperation) => Promise<unknown>>
> = {
  // Includes the container's anonymous volumes.
  container: (docker, { id }) => docker.getContainer(id).remove({ v: true }),
  image: (docker, { id, name }) => docker.getImage(name ?? id).remove(),
  volume: (docker, { id }) => docker.getVolume(id).remove(),
  network: (docker, { id }) => docker.getNetwork(id).remove(),
};

async function observe(docker: Docker): Promise<readonly SeenObject[]> {
  const labelled = { label: [LABELS.instance] };
  const [containers, images, named, { Volumes: volumes }, networks] = await Promise.all([
    docker.listContainers({ all: true }),
    docker.listImages({ filters: labelled }),
    docker.listImages({ filters: { reference: ["berth/*"] } }),
    docker.listVolumes({ filters: labelled }),
    docker.listNetworks({ filters: labelled }),
  ]);
  const usedImages = new Set(containers.map(({ ImageID }) => ImageID));
  const mounted = new Set(containers.flatMap(({ Mounts }) => Mounts.map(({ Name }) => Name)));
  const joined = new Set(
    containers.flatMap(({ NetworkSettings }) =>
      Object.values(NetworkSettings?.Networks ?? {}).map(({ NetworkID }) => NetworkID),
    ),
  );
  const byId = new Map([...images, ...named].map((image) => [image.Id, image]));
  return [
    ...containers.map(({ Id, Names, Labels, State }) => ({
      // A container of an image that Berth built inherits its labels, although Berth did not create it.
      ...labelsOf(labelOf(Labels, LABELS.role) === undefined ? {} : Labels),
      type: "container" as const,
      id: Id,
      name: Names[0]?.slice(1) ?? null,
      isInUse: State !== "exited" && State !== "created" && State !== "dead",
      sizeBytes: null,
    })),
    ...[...byId.values()].flatMap((image) => seenImages(image, usedImages.has(image.Id))),
    ...(volumes ?? []).map(({ Name, Labels }) => ({
      ...labelsOf(Labels),
      type: "volume" as const,
      id: Name,
      name: Name,
      isInUse: mounted.has(Name),
      sizeBytes: null,
    })),
    ...networks.map(({ Id, Name, Labels }) => ({
      ...labelsOf(Labels ?? {}),
      type: "network" as const,
      id: Id,
      name: Name,
      isInUse: joined.has(Id),
      sizeBytes: null,
    })),
  ];
}

/** One entry for each name that Berth gave an image. An image with further names is also used by others. */
function seenImages(image: Docker.ImageInfo, isUsed: boolean): SeenObject[] {
  const labels = labelsOf(image.Labels ?? {});
  const common = { type: "image" as const, id: image.Id, sizeBytes: image.Size };
  const names = (image.RepoTags ?? []).filter((name) => name !== "<none>:<none>");
  if (names.length === 0) return [{ ...common, ...labels, name: null, isInUse: isUsed }];
  return names.flatMap((name) => {
    const ref = refIn(name);
    if (ref === undefined) return [];
    const instance = builtBy(name, image.Labels) ?? null;
    // Removing one of several names deletes no content, so a container's use does not prevent it.
    return [{ ...common, ...ref, instance, name, isInUse: isUsed && names.length === 1 }];
  });
}

const labelsOf = (labels: Readonly<Record<string, string>>) => ({
  instance: labelOf(labels, LABELS.instance) ?? null,
  resourceUuid: labelOf(labels, LABELS.resource) ?? null,
  deploymentUuid: labelOf(labels, LABELS.deployment) ?? null,
});
