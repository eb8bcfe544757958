import { z } from "zod";
import { DomainError } from "../errors.ts";
import type { SeenClusterNode } from "../ports/cluster.ts";
import type { ServerRecord } from "../ports/records.ts";
import { NodeLabelChange } from "./node-label.ts";
import { isOnOwnMachine, isOwnMachine } from "./server.ts";
import { ENGINES } from "./server-settings.ts";

export const NODE_ROLES = ["manager", "worker"] as const;
export const NODE_AVAILABILITIES = ["active", "pause", "drain"] as const;

export const ClusterNodeUpdate = z.strictObject({
  role: z.enum(NODE_ROLES).optional().describe("Managers keep the cluster's state. Use an odd number of them."),
  availability: z
    .enum(NODE_AVAILABILITIES)
    .optional()
    .describe("`drain` moves its containers to other nodes, `pause` only keeps new ones away."),
  is_ingress: z
    .boolean()
    .optional()
    .describe(
      "Whether its proxy takes requests for the sites of the cluster. The server that manages the cluster always does.",
    ),
  labels: NodeLabelChange.optional(),
});
export type ClusterNodeUpdate = z.infer<typeof ClusterNodeUpdate>;

/** A node with the name by which people know it: that of its server, if it is one of Berth's. */
export type NamedClusterNode = SeenClusterNode & { readonly name: string };

export type NodeServer = Pick<
  ServerRecord,
  "id" | "uuid" | "name" | "ip" | "engine" | "proxy_type" | "settings" | "swarm_node_id"
>;

/** Whether its proxy takes requests for a cluster that another server manages. */
export const isClusterIngress = ({
  engine,
  settings,
  swarm_cluster,
}: Pick<ServerRecord, "engine" | "settings" | "swarm_cluster">): boolean =>
  settings.is_cluster_ingress && swarm_cluster !== null && !ENGINES[engine].isCluster;

/**
 * @param node The server that is the node.
 * @param head The server that manages the cluster.
 * @throws DomainError `resource.state` for a node that cannot begin or cease to take requests
 */
export function assertIngressChange<T extends NodeServer & Pick<ServerRecord, "private_key_id">>(
  node: T | undefined,
  head: NodeServer,
  isIngress: boolean,
): asserts node is T {
  if (node === undefined) {
    const message =
      "This node is not a server of the team, so it has no proxy of Berth's. Add the machine as a server.";
    throw new DomainError("resource.state", message);
  }
  if (node.id === head.id) {
    if (isIngress) return;
    const message = `Server ${head.name} manages the cluster and always takes its requests. Change where DNS points instead.`;
    throw new DomainError("resource.state", message);
  }
  if (!isIngress) return;
  if (isOwnMachine(node)) {
    const message = `The proxy of server ${node.name} serves Berth's own machine, so it cannot serve the cluster too. Choose another node.`;
    throw new DomainError("resource.state", message);
  }
  const other = [head, node].find(({ proxy_type }) => proxy_type !== SHARING_PROXY);
  if (other === undefined) return;
  const message = `Server ${other.name} has the proxy ${other.proxy_type}, which cannot share certificates. Change it first: berth server-proxies update ${other.uuid} --proxy-type ${SHARING_PROXY.toLowerCase()}`;
  throw new DomainError("resource.state", message);
}

/** @throws DomainError `resource.state` for a node that the managers do not hear from, as requests would end there */
export function assertReady({ name, state }: Pick<NamedClusterNode, "name" | "state">): void {
  if (state === "ready") return;
  throw new DomainError("resource.state", `Node ${name} is ${state}, so it can take no requests. Start it first.`);
}

/** The type of proxy whose certificates Berth copies to other nodes. */
export const SHARING_PROXY = "CADDY";

/**
 * Refuses a change after which the cluster could not be managed.
 * @param ownId Node of the server by which Berth manages the cluster.
 * @throws DomainError `resource.state`
 */
export function assertNodeChange(
  nodes: readonly SeenClusterNode[],
  node: NamedClusterNode,
  { role }: ClusterNodeUpdate,
  ownId: string | null,
): void {
  if (role !== "worker" || !node.isManager) return;
  if (node.id === ownId) {
    const message = `Berth manages the cluster through ${node.name}, so it must stay a manager. Demote another node.`;
    throw new DomainError("resource.state", message);
  }
  const left = nodes.filter(({ id, isManager }) => isManager && id !== node.id);
  const reachable = left.filter(({ isReachable }) => isReachable).length;
  // More than half of the managers that are left must answer.
  if (reachable > left.length - reachable) return;
  const message = `Without ${node.name}, only ${reachable} of ${left.length} managers answer, and the cluster could not be managed any more. Start the others first.`;
  throw new DomainError("resource.state", message);
}

const Address = z
  .string()
  .max(255)
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9.:-]*$/, "Must be an IP address or the name of an interface.");
const advertise_address = Address.optional().describe(
  "By which the other nodes reach it. Default: the server's address.",
);

export const ClusterCreate = z.strictObject({
  advertise_address,
  address_pool: z
    .string()
    .max(43)
    .regex(
      /^\d{1,3}(?:\.\d{1,3}){3}\/(?:[89]|1\d|2[0-4])$/,
      "Must be an IPv4 range such as 10.20.0.0/16, from /8 to /24.",
    )
    .optional()
    .describe("Range for the networks of the cluster, which no other network may use. Default: 10.0.0.0/8."),
});
export type ClusterCreate = z.infer<typeof ClusterCreate>;

export const ClusterJoin = z.strictObject({
  manager_uuid: z.string().describe("The server that manages the cluster."),
  role: z.enum(NODE_ROLES).optional().describe("Default: worker."),
  advertise_address,
});
export type ClusterJoin = z.infer<typeof ClusterJoin>;

export const ClusterLeave = z.strictObject({
  force: z
    .boolean()
    .optional()
    .describe("Also if data of storages is on it, which the cluster then forgets. Default false."),
});
export type ClusterLeave = z.infer<typeof ClusterLeave>;

/** @throws DomainError `resource.state` for a node of a cluster, and for Berth's own machine */
export function assertMayJoin(server: JoiningServer): void {
  assertNoNode(server);
  if (!isOnOwnMachine(server)) return;
  const message = `Server ${server.name} is the machine that Berth runs on. The managers of a cluster control its machines, so it cannot join one of other machines. Make it the server of the cluster instead, with berth cluster create ${server.name}, and let the others join.`;
  throw new DomainError("resource.state", message);
}
type JoiningServer = Pick<ServerRecord, "name" | "ip" | "engine" | "private_key_id" | "swarm_node_id">;

/** @throws DomainError `resource.state` */
export function assertNoNode({ name, swarm_node_id }: Pick<ServerRecord, "name" | "swarm_node_id">): void {
  if (swarm_node_id === null) return;
  throw new DomainError("resource.state", `Server ${name} is a node of a cluster already. Let it leave that first.`);
}

/** @throws DomainError `resource.state` for a node that cannot leave now */
export function assertMayLeave(
  nodes: readonly SeenClusterNode[],
  node: NamedClusterNode,
  { force = false }: ClusterLeave,
): void {
  assertNodeChange(nodes, node, { role: "worker" }, null);
  if (node.storages.length === 0 || force) return;
  const count = node.storages.length === 1 ? "1 storage" : `${node.storages.length} storages`;
  const message = `The data of ${count} is on ${node.name} alone. Back it up and delete the storages, or leave with force=true: the data stays on the machine then, and the cluster forgets it.`;
  throw new DomainError("resource.state", message);
}
