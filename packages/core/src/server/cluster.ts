import { DomainError } from "../errors.ts";
import type { ServerRecord } from "../ports/records.ts";
import type { SwarmNode } from "../ports/server-machine.ts";
import { isOnOwnMachine } from "./server.ts";
import { ENGINES, type EngineKind } from "./server-settings.ts";

/** What is recorded about a server and the other managers of its cluster. */
export interface ClusterRecords {
  /** A resource or a release is recorded on the server. */
  readonly isInUse: boolean;
  /** Other servers, of all teams, that are managers of the same cluster. */
  readonly managers: readonly Pick<ServerRecord, "team_id" | "name" | "engine">[];
}

/** What a server is in its cluster, as its validation found it. */
export interface ClusterFindings {
  /** The engine that the server has from now on. */
  readonly engine: EngineKind;
  /** Why nothing can run on it, and what to do. */
  readonly obstacle: string | null;
  readonly warnings: readonly string[];
  /** The node to record: without its cluster where that is another team's, which it could only claim to be in. */
  readonly node: SwarmNode | null;
}

type ValidatedServer = Pick<
  ServerRecord,
  "team_id" | "engine" | "ip" | "private_key_id" | "swarm_cluster_id" | "swarm_node_id"
> & {
  readonly settings: Pick<ServerRecord["settings"], "is_build_server">;
};

/**
 * Decides whether a server is used as a single machine or as the manager of its cluster. The engine of a server in use
 * never changes, since its resources exist in the old one.
 *
 * @param node `null` for an engine outside of any cluster.
 */
export function clusterFindings(
  server: ValidatedServer,
  node: SwarmNode | null,
  { isInUse, managers }: ClusterRecords,
): ClusterFindings {
  // Two engines for one cluster would remove what the other one runs.
  const otherHeads = managers.filter(({ engine }) => ENGINES[engine].isCluster);
  const isOfOthers = otherHeads.some(({ team_id }) => team_id !== server.team_id) && !isEstablished(server, node);
  const hasOtherHead = isOfOthers || otherHeads.some(({ team_id }) => team_id === server.team_id);
  const isHead = node?.isManager === true && !hasOtherHead && !server.settings.is_build_server;
  const wanted: EngineKind = isHead ? "swarm" : "docker";
  const engine = isInUse ? server.engine : wanted;
  const { isCluster } = ENGINES[engine];
  const warnings = [
    isHead && !isCluster ? KEPT_SINGLE : null,
    isHead ? toleranceWarning(node.managerCount) : null,
    node !== null && hasOtherHead && isOnOwnMachine(server) ? OWN_MACHINE : null,
    node === null || node.isManager ? null : managerMissing(server, node, managers),
  ].filter((line) => line !== null);
  return {
    ...{ engine, obstacle: isCluster ? headObstacle(node, hasOtherHead) : null, warnings },
    node: node !== null && isOfOthers ? { ...node, clusterId: null } : node,
  };
}

/** Whether it drove this cluster before: what a server of another team says does not take that away. */
function isEstablished({ engine, swarm_cluster_id, swarm_node_id }: ValidatedServer, node: SwarmNode | null): boolean {
  if (!ENGINES[engine].isCluster || swarm_cluster_id === null || node?.nodeId !== swarm_node_id) return false;
  return node.clusterId === null || node.clusterId === swarm_cluster_id;
}

/**
 * Whether a server gets containers of the cluster that the head manages. Host privileges are checked by the head alone,
 * so Berth's own machine gets those of its own cluster only.
 */
export const isNodeOf = (server: NodeServer, head: Pick<ServerRecord, "id" | "team_id">): boolean =>
  server.swarm_cluster === head.id &&
  server.team_id === head.team_id &&
  (server.id === head.id || !isOnOwnMachine(server));

type NodeServer = Pick<ServerRecord, "id" | "team_id" | "ip" | "engine" | "private_key_id" | "swarm_cluster">;

/**
 * Why a server cannot be the node that it says it is: another one is. Its machine may lie, or be a copy of the other.
 * @param servers Those of its team.
 */
export function sameNodeProblem(
  server: Pick<ServerRecord, "id" | "name">,
  nodeId: string,
  servers: readonly Pick<ServerRecord, "id" | "name" | "swarm_node_id">[],
): string | null {
  const other = servers.find(({ id, swarm_node_id }) => id !== server.id && swarm_node_id === nodeId);
  if (other === undefined) return null;
  return `Servers ${server.name} and ${other.name} report the same node of a Docker Swarm. If the machine of ${server.name} is a copy, run docker swarm leave --force on it. If ${other.name} has left the Swarm, validate ${other.name} first. Then validate ${server.name} again.`;
}

/** How many managers may be lost at once: those left must be more than half. */
export const lossTolerated = (managerCount: number): number => Math.max(0, Math.floor((managerCount - 1) / 2));

/** Whether so many managers answer that the others cannot have a leader of their own. */
export const hasMajority = (answeringCount: number, managerCount: number): boolean =>
  answeringCount >= managerCount - lossTolerated(managerCount);

/**
 * The error of a cluster that cannot be managed for now, also while its managers choose a leader.
 * @param server The manager that Berth uses.
 */
export function noLeader(server: string, { since, cause }: { readonly since?: Date; readonly cause?: unknown } = {}) {
  const moment = since?.toISOString().slice(0, 19).replace("T", " ");
  const state = moment === undefined ? "has no leader" : `has had no leader since ${moment} UTC`;
  return new DomainError("cluster.no_leader", `The Docker Swarm of ${server} ${state}. ${remedyOf(server)}`, { cause });
}

const remedyOf = (server: string): string =>
  `Managers choose another leader within seconds: try again. If this lasts, half of its managers or more do not answer: start them. If they are lost for good, run docker swarm init --force-new-cluster --advertise-addr ADDRESS on ${server}, where ADDRESS is its own, then validate ${server} again. Containers continue meanwhile.`;

type ListedServer = Pick<ServerRecord, "engine" | "swarm_cluster">;

/** The server that places resources in the cluster of this one; `undefined` if that is no other server. */
export function clusterHead<T extends ListedServer>(server: ListedServer, servers: readonly T[]): T | undefined {
  const { engine, swarm_cluster } = server;
  if (swarm_cluster === null || ENGINES[engine].isCluster) return undefined;
  return servers.find((other) => ENGINES[other.engine].isCluster && other.swarm_cluster === swarm_cluster);
}

function headObstacle(node: SwarmNode | null, hasOtherHead: boolean): string | null {
  if (node?.isManager !== true) return NO_MANAGER;
  if (hasOtherHead) return OTHER_HEAD;
  return node.clusterId === null ? `Its Docker Swarm has no leader. ${remedyOf("this server")}` : null;
}

/** `null`: it tolerates the loss of one. */
export function toleranceWarning(managerCount: number): string | null {
  if (managerCount === 0 || lossTolerated(managerCount) > 0) return null;
  const managers = managerCount === 1 ? "1 manager" : `${managerCount} managers`;
  return `Its Docker Swarm has ${managers} and tolerates the loss of none. Promote nodes until it has 3: berth cluster promote NODE.`;
}

const TOLERANCE = / ?Its Docker Swarm has \d+ managers? and tolerates the loss of none\. [^.]+\./;

/** What a validation said of the server of a cluster, after its managers have become more or fewer. */
export const withTolerance = (said: string | null, managerCount: number): string | null =>
  [said?.replace(TOLERANCE, "").trim(), toleranceWarning(managerCount)].filter(Boolean).join(" ") || null;

function managerMissing({ team_id }: ValidatedServer, node: SwarmNode, managers: ClusterRecords["managers"]) {
  if (managers.some((manager) => manager.team_id === team_id)) return null;
  const [first] = node.managers;
  const where = first === undefined ? "" : `, such as the one at ${first.address}`;
  return `It is a worker node of a Docker Swarm that has no manager among the team's servers. To use the Swarm, add one of its managers as a server${where}.`;
}

const KEPT_SINGLE =
  "It is a manager of a Docker Swarm, but stays a single Docker server because it has resources. To use the Swarm, remove its resources and validate it again.";
const OWN_MACHINE =
  "Berth runs on this machine, so it gets no containers of the Docker Swarm that another server manages. The managers of that Swarm can still start containers here. Unless you want that, run docker swarm leave on this machine.";
const NO_MANAGER =
  "It is not a manager of a Docker Swarm any more, so its resources cannot be managed. Make it a manager again, with docker node promote or docker swarm join, and validate it; or remove its resources.";
const OTHER_HEAD =
  "Its Docker Swarm is used through another server too, so both would remove what the other one runs. Remove the resources of one of the two servers and validate it again.";
