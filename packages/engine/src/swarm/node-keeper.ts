import { labelFilter, ownedLabels } from "@berth/docker-client";
import type Docker from "dockerode";
import pLimit from "p-limit";
import { answered } from "./answered.ts";
import { spreadImage } from "./images.ts";
import { hidesNetworks } from "./network.ts";
import { type ClusterNode, labelNode, type ReadNodes, type SwarmNode } from "./nodes.ts";
import { readyLabel } from "./placement.ts";
import type { Services } from "./services.ts";
import type { WhileNodesStay } from "./start.ts";

export interface NodeKeeperOptions {
  /** Client of a manager. */
  readonly docker: Docker;
  readonly services: Services;
  readonly instance: string;
  readonly nodes: ReadNodes;
  readonly whileNodesStay: WhileNodesStay;
  readonly signal: AbortSignal;
  readonly warn: (message: string, cause: unknown) => void;
}

/**
 * Keeps the label of the nodes that get tasks: those that have the images of all releases. One that was away may lack
 * the newest, and tasks would be rejected there.
 */
export class NodeKeeper {
  readonly #options: NodeKeeperOptions;
  readonly #inTurn = pLimit(1);

  constructor(options: NodeKeeperOptions) {
    this.#options = options;
  }

  /** @param all The nodes as they were seen now. */
  look(all: readonly ClusterNode[]): void {
    // The next look follows at the next change of a node.
    if (this.#inTurn.pendingCount > 0) return;
    void this.#inTurn(() => this.#keep(all)).catch((cause: unknown) => {
      if (!this.#options.signal.aborted) this.#options.warn("The nodes of a swarm could not be prepared.", cause);
    });
  }

  async #keep(all: readonly ClusterNode[]): Promise<void> {
    const { docker, services, instance, nodes, whileNodesStay, signal } = this.#options;
    const label = readyLabel(instance);
    const own = new Map((await nodes()).map((node) => [node.id, node]));
    for (const { id, isReady, labels } of all) {
      if (!isReady && labels[label] !== undefined) await labelNode(docker, id, { [label]: undefined });
    }
    const ready = all.filter(({ isReady }) => isReady).flatMap((found) => ({ found, node: own.get(found.id) }));
    if (ready.every(({ found, node }) => node === undefined || found.labels[label] !== undefined)) return;
    const answers = await Promise.all(ready.map(({ node }) => node && answered(node.docker.ping())));
    const answering = ready.filter((_one, at) => answers[at] !== undefined);
    const unprepared = await this.#joinable(answering.filter(({ found }) => found.labels[label] === undefined));
    if (unprepared.length === 0) return;
    const adapters = answering.flatMap(({ node }) => node ?? []);
    const present = new Set<string>();
    const lacking = async () =>
      [...new Set((await services.list()).map(({ imageId }) => imageId))].filter((image) => !present.has(image));
    /** A release may have been started meanwhile without these nodes. @returns Whether they have the images of all. */
    const labelled = async (): Promise<boolean> => {
      if ((await lacking()).length > 0) return false;
      for (const { found } of unprepared) await labelNode(docker, found.id, { [label]: "yes" });
      return true;
    };
    do {
      const images = await lacking();
      if (images.length === 0) return;
      for (const image of images) {
        await spreadImage({ adapters, others: [] }, image, { signal, onLine() {} });
        present.add(image);
      }
    } while (!(await whileNodesStay(labelled)));
  }

  /** Those whose containers can join the networks of the swarm. */
  async #joinable<Node extends { readonly node: SwarmNode | undefined }>(
    nodes: readonly Node[],
  ): Promise<readonly Node[]> {
    if (nodes.length === 0) return [];
    const { docker, instance } = this.#options;
    const filters = { ...labelFilter(ownedLabels(instance)), scope: ["swarm"] };
    const names = (await docker.listNetworks({ filters })).map(({ Name }) => Name);
    const hidden = await Promise.all(
      nodes.map(({ node }) => node && answered(hidesNetworks(node.docker, names, instance))),
    );
    return nodes.filter((_node, at) => hidden[at] === undefined);
  }
}
