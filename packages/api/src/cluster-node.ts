import {
  ClusterCreate,
  ClusterJoin,
  ClusterLeave,
  ClusterNode,
  ClusterNodeUpdate,
  JobStarted,
} from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import { OPERATOR } from "./operation-options.ts";
import { resumable } from "./stream.ts";

const uuid = z.string().describe("The server that manages the cluster.");
const node_id = z.string().max(64).describe("The cluster's id of the node.");

export const clusterNodes = {
  list: operation({
    method: "GET",
    path: "/servers/{uuid}/nodes",
    operationId: "list-nodes-by-server-uuid",
    tag: "Servers",
    summary: "List the nodes of a cluster",
    description: "As its managers see them now, managers first. For the server that manages a Docker Swarm.",
    ability: "read",
    errors: ["engine.unsupported", "engine.unreachable", "cluster.no_leader"],
  })
    .input(z.strictObject({ uuid, ...paging }))
    .output(z.array(ClusterNode))
    .query(async ({ ctx, input: { uuid, skip = 0, take } }) => {
      const { items, total } = await ctx.control.clusterNodes.list(uuid);
      const page = items.slice(skip, take === undefined ? undefined : skip + take);
      return [...listed(ctx, { items: page, total }, { skip, take })];
    }),

  follow: operation({
    method: "GET",
    path: "/servers/{uuid}/nodes/follow",
    operationId: "follow-nodes-by-server-uuid",
    tag: "Servers",
    summary: "Follow the nodes of a cluster",
    description: "All of them, and again each time that one has changed, as while it is drained.",
    ability: "read",
    events: z.array(ClusterNode),
    errors: ["engine.unsupported", "engine.unreachable", "cluster.no_leader"],
  })
    .input(z.strictObject({ uuid, ...resumable }))
    .subscription(({ ctx, input, signal }) => ctx.control.clusterNodes.follow(input.uuid, signal ?? ctx.signal)),

  update: operation({
    method: "PATCH",
    path: "/servers/{uuid}/nodes/{node_id}",
    operationId: "update-node-by-id",
    tag: "Servers",
    summary: "Promote, demote, drain or activate a node",
    description:
      "Containers of a drained node start on other nodes, except those with a storage, which wait for it. A change " +
      "after which the cluster could not be managed is refused.",
    ability: "write",
    extras: [OPERATOR.cluster],
    errors: ["engine.unsupported", "engine.unreachable", "cluster.no_leader", "resource.state"],
  })
    .input(ClusterNodeUpdate.extend({ uuid, node_id }))
    .output(ClusterNode)
    .mutation(({ ctx, input: { uuid, node_id: id, ...change } }) => ctx.control.clusterNodes.update(uuid, id, change)),
};

const REFUSALS = ["engine.unsupported", "engine.unreachable", "cluster.no_leader", "resource.state"] as const;

export const clusters = {
  create: operation({
    method: "POST",
    path: "/servers/{uuid}/cluster",
    operationId: "create-cluster-by-server-uuid",
    tag: "Servers",
    summary: "Make a server the first manager of a new cluster",
    description: "Initialises Docker Swarm on it. The server must have no resources and be in no cluster.",
    ability: "write",
    extras: [OPERATOR.cluster],
    status: 201,
    errors: [...REFUSALS],
  })
    .input(ClusterCreate.extend({ uuid: z.string().describe("The server.") }))
    .output(JobStarted)
    .mutation(({ ctx, input: { uuid: server, ...options } }) => ctx.control.clusters.create(server, options)),

  join: operation({
    method: "POST",
    path: "/servers/{uuid}/cluster/join",
    operationId: "join-cluster-by-server-uuid",
    tag: "Servers",
    summary: "Add a server to a cluster",
    description:
      "Its machine and the managers must reach each other at the ports 2377 (TCP), 7946 (TCP and UDP) and 4789 (UDP). " +
      "What runs on the server continues.",
    ability: "write",
    extras: [OPERATOR.cluster],
    status: 201,
    errors: [...REFUSALS],
  })
    .input(ClusterJoin.extend({ uuid: z.string().describe("The server that joins.") }))
    .output(JobStarted)
    .mutation(({ ctx, input: { uuid: server, ...options } }) => ctx.control.clusters.join(server, options)),

  leave: operation({
    method: "POST",
    path: "/servers/{uuid}/cluster/leave",
    operationId: "leave-cluster-by-server-uuid",
    tag: "Servers",
    summary: "Remove a server from its cluster",
    description:
      "Its containers start on other nodes. Refused while it has the data of a storage, or if the cluster could not be " +
      "managed without it. The server that manages the cluster leaves last, without resources.",
    ability: "write",
    extras: [OPERATOR.cluster],
    status: 201,
    errors: [...REFUSALS],
  })
    .input(ClusterLeave.extend({ uuid: z.string().describe("The server that leaves.") }))
    .output(JobStarted)
    .mutation(({ ctx, input: { uuid: server, ...options } }) => ctx.control.clusters.leave(server, options)),

  rotateTokens: operation({
    method: "POST",
    path: "/servers/{uuid}/cluster/rotate-tokens",
    operationId: "rotate-cluster-tokens-by-server-uuid",
    tag: "Servers",
    summary: "Replace the tokens by which machines join a cluster",
    description:
      "Tokens that somebody read before are worthless then. Nodes that joined stay. Berth reads the tokens anew for " +
      "each server that joins, and shows them to nobody.",
    ability: "write",
    extras: [OPERATOR.cluster],
    errors: ["engine.unsupported", "engine.unreachable", "cluster.no_leader"],
  })
    .input(z.strictObject({ uuid }))
    .output(z.object({ message: z.string() }))
    .mutation(({ ctx, input: { uuid: server } }) => ctx.control.clusters.rotateTokens(server)),
};
