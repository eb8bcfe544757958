import { DomainError } from "@berth/core";
import type { FileMount, ReleaseRef } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { containerImageName, FILES_ROLE, LABELS, ownedLabels, releaseFilter, uninherited } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerFiles } from "../docker/compose/document.ts";
import { putSourceFiles } from "../docker/compose/source-image.ts";
import { putEntries, putFiles } from "../docker/files.ts";
import { removeContainer } from "../docker/start.ts";
import type { SwarmNode } from "./nodes.ts";

/**
 * Loads an image on each node that lacks it, so that its tasks start there without asking a registry.
 * @throws DomainError `deploy.start_failed`, `deploy.cancelled`
 */
export async function spreadImage(nodes: readonly SwarmNode[], image: string, io: WorkIO): Promise<void> {
  const found = await Promise.all(nodes.map(({ images }) => images.find(image)));
  const source = nodes.find((_node, at) => found[at] !== undefined);
  const wanted = found.find((one) => one !== undefined);
  if (source === undefined || wanted === undefined) {
    throw new DomainError("deploy.start_failed", `No node of the cluster has the image ${image}. Deploy again.`);
  }
  const lacking = nodes.filter((_node, at) => found[at]?.id !== wanted.id);
  // One after the other: each transfer takes the network of the node that has the image.
  for (const node of lacking) {
    io.onLine(`Loads the image on ${node.name}`, "stdout");
    const held = await node.images.held(wanted.layers);
    const loaded = await node.images.load(source.images.save(image, held), image, io.signal);
    if (loaded.id === wanted.id) continue;
    const message = `The engine of ${node.name} stores images in another way than that of ${source.name}, so the cluster cannot start them by their id. Use the same image store on all nodes.`;
    throw new DomainError("deploy.start_failed", message);
  }
}

/**
 * Makes an image with these files, since a container of a swarm cannot get any before its start. So each container
 * begins with them as they are recorded, and has its own to write to.
 * @returns Its name, which is one of the deployment's.
 */
export async function imageWithFiles(docker: Docker, image: string, release: FilesOfRelease): Promise<string> {
  const { instance, ref, files, user, member } = release;
  const name = containerImageName(ref, ["mounted-files", member?.order].filter((part) => part !== undefined).join("-"));
  const [repo, tag] = name.split(":");
  await removeFilesContainers(docker, instance, ref);
  const labels = { [LABELS.resource]: ref.resourceUuid, [LABELS.deployment]: ref.deploymentUuid };
  const Labels = uninherited({ ...ownedLabels(instance), ...labels, [LABELS.role]: FILES_ROLE });
  const container = await docker.createContainer({ Image: image, Labels });
  try {
    const { Config } = await container.inspect();
    await putFiles(container, files, user ?? Config.User);
    await putEntries(container, member?.entries ?? []);
    if (member?.source != null) {
      await putSourceFiles({ docker, instance }, member.source, [{ id: container.id, name: member.name }]);
    }
    await container.commit({ repo, tag });
    return name;
  } finally {
    await removeContainer(container);
  }
}

export interface FilesOfRelease {
  readonly instance: string;
  readonly ref: ReleaseRef;
  readonly files: readonly FileMount[];
  /** Of the processes, if not the image's. */
  readonly user: string | null;
  readonly member?: FilesOfMember | undefined;
}

/** What a compose file mounts besides. */
interface FilesOfMember extends Pick<ContainerFiles, "entries" | "source"> {
  readonly name: string;
  readonly order: number;
}

/** Removes the containers of attempts to make the image that a crash interrupted. */
export async function removeFilesContainers(docker: Docker, instance: string, ref: ReleaseRef): Promise<void> {
  const found = await docker.listContainers({ all: true, filters: { ...releaseFilter(instance, ref, FILES_ROLE) } });
  await Promise.all(found.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}
