import { setTimeout as delay } from "node:timers/promises";
import type { WorkIO } from "@berth/core/ports";
import type Docker from "dockerode";
import { answering, clusterNodes, namedNodes, ownNodes, type ReadNodes } from "./nodes.ts";

export interface AwaitedNodesOptions {
  /** Client of a manager. */
  readonly docker: Docker;
  /** The nodes that are servers of Berth's. */
  readonly nodes: ReadNodes;
  /** How long a node is waited for that Berth reaches and the managers count as lost. */
  readonly returnSeconds: number;
}

/**
 * Nodes that the managers have not heard from yet, but may soon: all of them after a new leader was chosen, and after an
 * outage of the managers those that Berth reaches. A node whose way to the managers is broken is waited for once, until
 * they have heard from it again.
 */
export class AwaitedNodes {
  readonly #options: AwaitedNodesOptions;
  /** Nodes that Berth reaches and the managers count as lost, with the time at which that was found. */
  readonly #returning = new Map<string, number>();

  constructor(options: AwaitedNodesOptions) {
    this.#options = options;
  }

  /** Whether the managers may hear from more nodes in a moment. Until then they find that no node fits. */
  async isSettling(): Promise<boolean> {
    return (await this.#names()).length > 0;
  }

  /**
   * Waits for that, for a limited time and until `signal`: a node that does not answer is down for the leader after
   * some 15 s.
   */
  async settled({ signal, onLine }: Partial<Pick<WorkIO, "signal" | "onLine">> = {}): Promise<void> {
    const endMs = performance.now() + SETTLING_MS_MAX;
    let isSaid = false;
    while (signal?.aborted !== true && performance.now() < endMs) {
      const names = await this.#names();
      if (names.length === 0) return;
      if (!isSaid) onLine?.(`Waits until the managers of the cluster reach ${names.join(", ")}`, "stdout");
      isSaid = true;
      await delay(SETTLING_PAUSE_MS);
    }
  }

  /** Others that are lost again later are waited for anew. */
  keepOnly(lostIds: ReadonlySet<string>): void {
    for (const id of this.#returning.keys()) if (!lostIds.has(id)) this.#returning.delete(id);
  }

  async #names(): Promise<readonly string[]> {
    const { docker, nodes, returnSeconds } = this.#options;
    const [all, adapters] = await Promise.all([clusterNodes(docker), nodes()]);
    const own = ownNodes(all, adapters);
    const reached = await answering(own.filter(({ isReady }) => !isReady));
    const nowMs = performance.now();
    this.keepOnly(new Set(reached.map(({ id }) => id)));
    for (const { id } of reached) if (!this.#returning.has(id)) this.#returning.set(id, nowMs);
    const returning = reached.filter(({ id }) => nowMs - (this.#returning.get(id) ?? nowMs) < returnSeconds * 1000);
    return namedNodes([...all.filter(({ isUnknown }) => isUnknown), ...returning], adapters).map(({ name }) => name);
  }
}

const SETTLING_MS_MAX = 30_000;
const SETTLING_PAUSE_MS = 250;
