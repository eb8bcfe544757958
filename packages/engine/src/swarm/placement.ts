import { DomainError } from "@berth/core";
import type { ReleaseSpec, StorageMount } from "@berth/core/deploy";
import type Docker from "dockerode";
import { ensureVolumes, hasVolume, type VolumeOwner } from "../docker/volumes.ts";
import { fulfils } from "./constraints.ts";
import {
  type ClusterNode,
  clusterNodes,
  labelNode,
  namedNodes,
  type OwnNode,
  type ReadNodes,
  type SwarmNode,
} from "./nodes.ts";
import { holderProblem, NO_NODE } from "./placement-problem.ts";
import { onStorage, storageLabel, storageLabelIn } from "./storage-label.ts";

/** Label of the nodes that have the images of all releases, so that tasks can start there. */
export const readyLabel = (instance: string): string => `berth.ready.${instance}`;

export interface PlacementOptions {
  /** Client of a manager. */
  readonly docker: Docker;
  /** Those that take tasks and answer. */
  readonly nodes: readonly OwnNode[];
  /** All servers of the cluster. */
  readonly adapters: ReadNodes;
  readonly owner: Omit<VolumeOwner, "server">;
}

/**
 * Chooses the node of a release with storages, whose data lies on one node: the one that has it, or at the first start
 * the one with the fewest storages. The choice is recorded in the swarm and never made again.
 *
 * @throws DomainError `deploy.start_failed` if the data is on several nodes, or its node cannot be reached
 */
export async function pinStorages(
  options: PlacementOptions,
  { storages, replicas = 1 }: Pick<ReleaseSpec, "storages" | "replicas">,
  constraints: readonly string[],
): Promise<Pins> {
  const { docker, nodes, owner } = options;
  const local = storages.filter((mount) => mount.type !== "file");
  if (local.length === 0) return { constraints: [], holder: undefined };
  if (replicas > 1) throw new DomainError("deploy.start_failed", oneContainer(`The storage ${local[0]?.name}`));
  const holders = new Set(await holdersOf(options, local));
  if (holders.size > 1) {
    const message =
      "Its storages are on several nodes of the cluster. Move their data to one node, by a backup and a restore.";
    throw new DomainError("deploy.start_failed", message);
  }
  const [holder] = holders;
  const chosen =
    nodes.find(({ id }) => id === holder) ?? (holder === undefined ? leastUsed(nodes, constraints) : undefined);
  if (chosen === undefined || !chosen.isActive) {
    const all = namedNodes(await clusterNodes(docker), await options.adapters());
    throw new DomainError("deploy.start_failed", holder === undefined ? NO_NODE : holderProblem(holder, all));
  }
  const { node } = chosen;
  await ensureVolumes(node.docker, local, { ...owner, server: node.name });
  for (const mount of local) {
    if (mount.type === "folder") await node.host.files.makeFolder(mount.hostPath, { mode: 0o755 });
  }
  await labelNode(docker, node.id, Object.fromEntries(local.map(({ uuid }) => [storageLabel(uuid), "here"])));
  return { constraints: local.map(({ uuid }) => onStorage(uuid)), holder: node };
}

interface Pins {
  /** Conditions for the tasks. */
  readonly constraints: readonly string[];
  /** The node with their data; `undefined`: they have none. */
  readonly holder: SwarmNode | undefined;
}

/** @throws DomainError `deploy.start_failed` for tasks whose data is on one node */
export function requireSeveralPossible(constraints: readonly string[]): void {
  if (!constraints.some((one) => storageLabelIn(one) !== undefined)) return;
  throw new DomainError("deploy.start_failed", oneContainer("Its storage"));
}

const oneContainer = (subject: string): string =>
  `${subject} is on one node of the cluster, so the application can have one container. Set its replicas to 1, or remove the storage.`;

/** Forgets where these storages were, after their data was removed. */
export async function unpinStorages(docker: Docker, uuids: readonly string[]): Promise<void> {
  const labels = uuids.map(storageLabel);
  for (const { id, labels: own } of await clusterNodes(docker)) {
    const present = labels.filter((label) => own[label] !== undefined);
    if (present.length > 0) await labelNode(docker, id, Object.fromEntries(present.map((label) => [label, undefined])));
  }
}

/** Ids of the nodes that have data of these storages, by their labels; else by the volumes that exist. */
async function holdersOf(
  { docker, nodes }: PlacementOptions,
  storages: readonly StorageMount[],
): Promise<readonly string[]> {
  const all = await clusterNodes(docker);
  const perStorage = await Promise.all(
    storages.map(async ({ uuid, type }) => {
      const labelled = all.filter(({ labels }) => labels[storageLabel(uuid)] !== undefined).map(({ id }) => id);
      if (labelled.length > 0 || type !== "volume") return labelled;
      const having = await Promise.all(
        nodes.map(async (one) => ((await hasVolume(one.node.docker, uuid)) ? one.id : [])),
      );
      return having.flat();
    }),
  );
  return perStorage.flat();
}

const leastUsed = (
  nodes: PlacementOptions["nodes"],
  constraints: readonly string[],
): PlacementOptions["nodes"][number] | undefined =>
  nodes
    .filter((node) => node.isActive && fulfils(node, constraints))
    .toSorted(
      (a, b) => storagesOn(a.labels).length - storagesOn(b.labels).length || a.hostname.localeCompare(b.hostname),
    )[0];

/** Ids of the storages whose data is on a node with these labels. */
export const storagesOn = (labels: ClusterNode["labels"]): readonly string[] =>
  Object.keys(labels).flatMap((label) =>
    label.startsWith(storageLabel("")) ? label.slice(storageLabel("").length) : [],
  );
