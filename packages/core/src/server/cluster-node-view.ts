import { z } from "zod";
import type { SeenClusterNode } from "../ports/cluster.ts";
import type { NamedResource } from "../ports/records.ts";
import { NODE_AVAILABILITIES, NODE_ROLES, type NodeServer } from "./cluster-node.ts";
import { isOwnLabel } from "./node-label.ts";
import { ENGINES } from "./server-settings.ts";

const RESOURCE = {
  uuid: z.string(),
  type: z.enum(["application", "service", "database"]),
  name: z.string(),
};

export const ClusterNode = z
  .object({
    id: z.string().describe("The cluster's own id of it."),
    hostname: z.string(),
    address: z.string().nullable().describe("As the other nodes reach it."),
    role: z.enum(NODE_ROLES),
    availability: z.enum(NODE_AVAILABILITIES),
    state: z.string().describe("`ready`, `down`, `disconnected` or `unknown`, as its managers see it."),
    is_leader: z.boolean(),
    is_reachable: z.boolean().nullable().describe("Whether the other managers reach it; null for a worker."),
    engine_version: z.string().nullable(),
    cpus: z.number().nullable(),
    memory_bytes: z.int().nullable(),
    containers: z.int().describe("Containers of this instance's resources that should run on it now."),
    containers_leaving: z
      .int()
      .describe("Containers that still run on it and are being stopped, as after a drain. 0 for a node that is down."),
    resources: z
      .array(
        z.object({
          ...RESOURCE,
          containers: z.int().describe("Of the containers above."),
        }),
      )
      .describe("What runs on it, by name."),
    load_average: z
      .number()
      .nullable()
      .describe(
        "Processes that run or wait for a processor, over the last minute; more than `cpus` is too much. Null for a machine that Berth does not reach.",
      ),
    memory_used_bytes: z.int().nullable(),
    storages: z
      .int()
      .describe("Storages whose data is on it alone. Their containers wait while it is drained or down."),
    data_of: z
      .array(
        z.object({
          ...RESOURCE,
          storages: z.int().describe("Of the storages above."),
        }),
      )
      .describe("What these storages belong to, by name."),
    labels: z
      .record(z.string(), z.string())
      .describe("By which placement constraints choose nodes. Those that Berth sets itself are left out."),
    server_uuid: z
      .string()
      .nullable()
      .describe("The team's server that is this node. Without one it gets no containers."),
    server_name: z.string().nullable(),
    server_ip: z.string().nullable().describe("The address of that server, where DNS may point if it is an ingress."),
    is_ingress: z.boolean().describe("Whether DNS may point to it: its proxy takes requests for the cluster's sites."),
  })
  .meta({ id: "ClusterNode", description: "A machine of a cluster." });
export type ClusterNode = z.infer<typeof ClusterNode>;

/** What the nodes of a cluster have, by the ids that its managers know. */
export interface OnNodes {
  /** Resources of the team, by uuid. */
  readonly named: ReadonlyMap<string, NamedResource>;
  /** Uuid of the resource, by storage. */
  readonly storageOwners: ReadonlyMap<string, string>;
}

export function clusterNodeView(
  node: SeenClusterNode,
  servers: readonly NodeServer[],
  { named, storageOwners }: OnNodes = { named: new Map(), storageOwners: new Map() },
): ClusterNode {
  const server = servers.find(({ swarm_node_id }) => swarm_node_id === node.id);
  return {
    id: node.id,
    hostname: node.hostname,
    address: node.address,
    role: node.isManager ? "manager" : "worker",
    availability: node.availability,
    state: node.state,
    is_leader: node.isLeader,
    is_reachable: node.isManager ? node.isReachable : null,
    engine_version: node.engineVersion,
    cpus: node.cpus,
    memory_bytes: node.memoryBytes,
    containers: node.containers,
    containers_leaving: node.state === "ready" ? node.leaving : 0,
    resources: byName(node.resources, named).map(({ count, ...resource }) => ({ ...resource, containers: count })),
    load_average: node.load?.average ?? null,
    memory_used_bytes: node.load?.memoryUsedBytes ?? null,
    storages: node.storages.length,
    data_of: byName(countsOf(node.storages.flatMap((id) => ownerOf(id, storageOwners) ?? [])), named).map(
      ({ count, ...resource }) => ({ ...resource, storages: count }),
    ),
    labels: Object.fromEntries(Object.entries(node.labels).filter(([name]) => !isOwnLabel(name))),
    server_uuid: server?.uuid ?? null,
    server_name: server?.name ?? null,
    server_ip: server?.ip ?? null,
    is_ingress: server !== undefined && (ENGINES[server.engine].isCluster || server.settings.is_cluster_ingress),
  };
}

function byName(counts: ReadonlyMap<string, number>, named: OnNodes["named"]) {
  const known = [...counts].flatMap(([uuid, count]) => {
    const resource = named.get(uuid);
    return resource === undefined ? [] : { uuid, type: resource.kind, name: resource.name, count };
  });
  return known.toSorted((a, b) => a.name.localeCompare(b.name) || a.uuid.localeCompare(b.uuid));
}

/** How often each is listed. */
export const countsOf = (uuids: readonly string[]): ReadonlyMap<string, number> =>
  new Map([...Map.groupBy(uuids, (uuid) => uuid)].map(([uuid, all]) => [uuid, all.length]));

/**
 * What the name of a volume says about its owner: the resource itself, for a volume of a compose file, or a storage.
 * A preview's volumes are those of its application.
 */
export function volumeOwner(id: string): { readonly resource: string } | { readonly storage: string } {
  const [, uuid = id, volume] = /^([^_]+?)(?:-pr-\d+)?(_.*)?$/s.exec(id) ?? [];
  return volume === undefined ? { storage: uuid } : { resource: uuid };
}

function ownerOf(id: string, storageOwners: OnNodes["storageOwners"]): string | undefined {
  const owner = volumeOwner(id);
  return "resource" in owner ? owner.resource : storageOwners.get(owner.storage);
}

/** Addresses of the nodes that DNS may point to: those that take requests, by whether they answer them now. */
export function ingressAddresses(nodes: readonly ClusterNode[]): { readonly ready: string[]; readonly down: string[] } {
  const addressesOf = (isMeant: (node: ClusterNode) => boolean) =>
    nodes.flatMap((node) => (node.is_ingress && node.server_ip !== null && isMeant(node) ? node.server_ip : []));
  return {
    ready: addressesOf(({ state }) => state === "ready"),
    down: addressesOf(({ state }) => state !== "ready"),
  };
}
