/** A node of a cluster, as far as it matters for the choice of the manager that calls go through. */
export interface AskedNode {
  /** The cluster's own id of it. */
  readonly id: string;
  /** It answers, and lists a majority of managers: those and the workers that hang would change nothing. */
  readonly canManage: boolean;
}

/**
 * The node that calls of a cluster go through now: the manager that is its server in Berth while that can, else the
 * other with the lowest id, so that all control planes choose the same. `undefined`: none can.
 *
 * @param headId Node of the server of the cluster.
 */
export function managingNode<T extends AskedNode>(nodes: readonly T[], headId: string | null): T | undefined {
  const able = nodes.filter(({ canManage }) => canManage);
  return able.find(({ id }) => id === headId) ?? able.toSorted((one, other) => (one.id < other.id ? -1 : 1))[0];
}

/** Why the server of a cluster counts as unreachable, and what that means while another manager replaces it. */
export const managedThroughOther = (problem: string, server: string, other: string): string =>
  `${problem} Its cluster is managed through ${other} meanwhile. Public ports of databases, deletions and its own proxy wait until ${server} is back: start it again.`;

/** The same for a call that only the server itself can do. */
export const waitsForHead = (problem: string, server: string): string =>
  `${problem} Public ports of databases, deletions, and compose files that run on it alone need server ${server} itself: start it again.`;
