import type { ReleaseContainer, ReleaseState } from "@berth/core/deploy";
import { fulfils } from "./constraints.ts";
import type { NamedNode } from "./nodes.ts";
import { type FoundService, placementOf } from "./services.ts";
import { storageLabelIn } from "./storage-label.ts";

/**
 * Why containers of a release wait, and what to do: the node with their data accepts none, or no node does.
 * `undefined`: none waits, or one may start in a moment.
 */
export function placementProblem(
  state: ReleaseState,
  services: readonly FoundService[],
  nodes: readonly NamedNode[],
): string | undefined {
  for (const { member, isStopped, spec } of services) {
    if (isStopped || member?.isExcluded === true) continue;
    const isWaiting =
      state.containers === undefined
        ? WAITING.has(state.state)
        : state.containers.some((one) => isOf(one, member?.name) && WAITING.has(one.state));
    const constraints = placementOf(spec);
    const problem = isWaiting ? (lostData(nodes, constraints) ?? noNode(nodes, constraints)) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Without a name, all are containers of one image. */
const isOf = ({ name }: ReleaseContainer, wanted: string | undefined): boolean =>
  wanted === undefined || name === wanted;

const WAITING: ReadonlySet<string> = new Set(["created", "starting", "restarting"]);

/** Why the node with the data of tasks with these constraints accepts none. */
export function lostData(nodes: readonly NamedNode[], constraints: readonly string[]): string | undefined {
  const storages = constraints.flatMap((one) => storageLabelIn(one) ?? []);
  const holders = nodes.filter(({ labels }) => storages.some((label) => labels[label] !== undefined));
  const away = holders.find(({ isReady, isActive }) => !isReady || !isActive);
  if (away !== undefined) return holderProblem(away.id, nodes);
  for (const node of holders) {
    const unmet = ofUsers(constraints).filter((one) => !fulfils(node, [one]));
    if (unmet.length === 0) continue;
    return `Its data is on node ${node.name}, which does not fulfil ${unmet.join(", ")}. Change the condition, or the labels of that node.`;
  }
  return undefined;
}

function noNode(nodes: readonly NamedNode[], constraints: readonly string[]): string | undefined {
  const wanted = ofUsers(constraints);
  // Before the first look, nothing is known of any.
  const isRefused = nodes.length > 0 && !nodes.some((node) => node.isReady && node.isActive && fulfils(node, wanted));
  return isRefused ? NO_NODE : undefined;
}

/** Without Berth's own conditions, which it restores by itself. */
const ofUsers = (constraints: readonly string[]): readonly string[] =>
  constraints.filter((one) => !/^node\.(?:id!|labels\.berth\.)/.test(one));

export const NO_NODE =
  "No node of the cluster accepts it. Add the nodes as servers, check that they are ready and active, and that one fulfils the placement constraints.";

/** @param holder Id of the node with the data. */
export function holderProblem(holder: string, nodes: readonly NamedNode[]): string {
  const node = nodes.find(({ id }) => id === holder);
  const [reason, remedy] = whyUnavailable(node);
  return `Its data is on node ${node?.name ?? holder}, which ${reason}. ${remedy}`;
}

function whyUnavailable(node: NamedNode | undefined): readonly [reason: string, remedy: string] {
  const restore = "Start the node again, or restore a backup.";
  if (node?.isReady === false) return ["is down", restore];
  if (node?.isActive === false) {
    const named = /^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(node.name) ? node.name : node.id;
    return ["is drained or paused", `Let it take containers again: berth cluster activate ${named}`];
  }
  return ["does not answer, or is not a server of Berth's", restore];
}

/**
 * Nodes as they were looked up. The managers count all of them as lost for some seconds after an outage of their own,
 * so a node is shown as lost only after a while; at the first look nobody knows since when.
 */
export class SteadyNodes {
  readonly #graceSeconds: number;
  readonly #lostSinceMs = new Map<string, number>();
  #nodes: readonly NamedNode[] | undefined;

  constructor(graceSeconds: number) {
    this.#graceSeconds = graceSeconds;
  }

  /** @param nowMs Of a clock that only advances. */
  record(nodes: readonly NamedNode[], nowMs: number): void {
    const lost = nodes.filter(({ isReady }) => !isReady);
    const since = this.#nodes === undefined ? Number.NEGATIVE_INFINITY : nowMs;
    for (const { id } of lost) if (!this.#lostSinceMs.has(id)) this.#lostSinceMs.set(id, since);
    for (const id of this.#lostSinceMs.keys()) if (lost.every((one) => one.id !== id)) this.#lostSinceMs.delete(id);
    this.#nodes = nodes;
  }

  /** As last looked up. */
  get newest(): readonly NamedNode[] {
    return this.#nodes ?? [];
  }

  at(nowMs: number): readonly NamedNode[] {
    const isShort = (id: string) => nowMs - (this.#lostSinceMs.get(id) ?? nowMs) < this.#graceSeconds * 1000;
    return this.newest.map((node) => (isShort(node.id) ? { ...node, isReady: true } : node));
  }
}
