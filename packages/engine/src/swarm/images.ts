import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import type { FileMount, ReleaseRef } from "@berth/core/deploy";
import type { EngineImage, WorkIO } from "@berth/core/ports";
import { containerImageName, FILES_ROLE, LABELS, ownedLabels, releaseFilter, uninherited } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerFiles } from "../docker/compose/document.ts";
import { putSourceFiles } from "../docker/compose/source-image.ts";
import { putEntries, putFiles } from "../docker/files.ts";
import { removeContainer, requireWanted } from "../docker/start.ts";
import { answered } from "./answered.ts";
import type { SwarmNode } from "./nodes.ts";

export interface ImageNodes {
  /** Those that are to have the image. */
  readonly adapters: readonly SwarmNode[];
  /** Those that get no tasks now. One of them may have built the image. */
  readonly others: readonly SwarmNode[];
  /** How long one of them is waited for that does not answer. Default: not at all. */
  readonly otherSecondsMax?: number;
}

/** Only this node is to have the image, which any other may have. */
export const onlyOn = <Nodes extends ImageNodes>(nodes: Nodes, holder: SwarmNode): Nodes => ({
  ...nodes,
  adapters: [holder],
  others: [...nodes.adapters.filter(({ id }) => id !== holder.id), ...nodes.others],
});

/**
 * Loads an image on each node that lacks it, so that its tasks start there without asking a registry.
 * @throws DomainError `deploy.start_failed`, `deploy.cancelled`
 */
export async function spreadImage(nodes: ImageNodes, image: string, io: WorkIO): Promise<void> {
  const { adapters } = nodes;
  const found = await Promise.all(adapters.map(({ images }) => images.find(image)));
  const source = firstSource(adapters, found) ?? (await otherSource(nodes, image, io));
  if (source === undefined) {
    throw new DomainError("deploy.start_failed", `No node of the cluster has the image ${image}. Deploy again.`);
  }
  await loadFrom(
    source,
    adapters.filter((_node, at) => found[at]?.id !== source.wanted.id),
    { image, io },
  );
}

/** While a cluster chooses its leader anew, the node that has just built an image may count as one that is down. */
async function otherSource(
  { others, otherSecondsMax = 0 }: ImageNodes,
  image: string,
  { signal }: WorkIO,
): Promise<ImageSource | undefined> {
  const endMs = performance.now() + otherSecondsMax * 1000;
  for (;;) {
    const answers = await Promise.all(others.map(({ images }) => answered(foundIn(images, image)).catch(() => NONE)));
    const source = firstSource(
      others,
      answers.map((answer) => answer?.image),
    );
    requireWanted(signal);
    const haveAllAnswered = answers.every((answer) => answer !== undefined);
    if (source !== undefined || haveAllAnswered || performance.now() >= endMs) return source;
    await delay(OTHER_PAUSE_MS);
  }
}

const foundIn = async (images: SwarmNode["images"], image: string) => ({ image: await images.find(image) });
const NONE = { image: undefined };
const OTHER_PAUSE_MS = 250;

function firstSource(
  nodes: readonly SwarmNode[],
  found: readonly (EngineImage | undefined)[],
): ImageSource | undefined {
  const at = found.findIndex((one) => one !== undefined);
  const [node, wanted] = [nodes[at], found[at]];
  return node && wanted && { node, wanted };
}

interface ImageSource {
  readonly node: SwarmNode;
  readonly wanted: EngineImage;
}

async function loadFrom(
  { node: source, wanted }: ImageSource,
  lacking: readonly SwarmNode[],
  { image, io }: { readonly image: string; readonly io: WorkIO },
): Promise<void> {
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
