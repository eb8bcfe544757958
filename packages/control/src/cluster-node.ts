import { setTimeout as delay } from "node:timers/promises";
import { DomainError, invalid, notFound } from "@berth/core";
import type {
  ClusterMembership,
  ClusterOperations,
  Page,
  SeenClusterNode,
  ServerRecord,
  Stores,
} from "@berth/core/ports";
import {
  assertIngressChange,
  assertMayJoin,
  assertMayLeave,
  assertNodeChange,
  assertNoNode,
  assertReady,
  type ClusterCreate,
  type ClusterJoin,
  type ClusterLeave,
  type ClusterNode,
  type ClusterNodeUpdate,
  clusterNodeView,
  ENGINES,
  isOnOwnMachine,
  type JobStarted,
  type NamedClusterNode,
  type OnNodes,
  volumeOwner,
  withTolerance,
} from "@berth/core/server";
import { requireAbility, requireOperator } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { findServer, requireStaying } from "./server.ts";
import { requestValidation } from "./server-create.ts";
import { whileTokenWorks } from "./token-watch.ts";

/** The machines of the cluster that a server manages. */
export function clusterNodes(context: UseCaseContext) {
  const { scope, stores } = context;

  const view = async (server: ServerRecord, cluster: ClusterOperations): Promise<readonly ClusterNode[]> => {
    const [nodes, { items }] = await Promise.all([cluster.nodes(), stores.servers.list()]);
    const own = items.filter(({ swarm_cluster }) => swarm_cluster === server.id);
    const onNodes = await findOnNodes(stores, nodes);
    const views = nodes.map((node) => clusterNodeView(node, own, onNodes));
    return views.toSorted((a, b) => a.role.localeCompare(b.role) || a.hostname.localeCompare(b.hostname));
  };

  return {
    /** Managers first. @throws DomainError `resource.not_found`, `engine.unsupported`, `engine.unreachable` */
    async list(uuid: string): Promise<Page<ClusterNode>> {
      requireAbility(scope, "read");
      const server = await findServer(stores, uuid);
      const items = await view(server, await clusterOf(context, server));
      return { items, total: items.length };
    },

    /** The nodes now, and again each time that they have changed. @throws DomainError as `list` */
    async follow(uuid: string, signal: AbortSignal): Promise<AsyncIterable<readonly ClusterNode[]>> {
      requireAbility(scope, "read");
      const server = await findServer(stores, uuid);
      const cluster = await clusterOf(context, server);
      return whileTokenWorks(context, signal, async function* (ended) {
        let sent: string | undefined;
        while (!ended.aborted) {
          const heard = new AbortController();
          // Registered before the look, so that no change between the two is missed.
          const changed = cluster.changed(AbortSignal.any([ended, heard.signal]));
          try {
            const nodes = await view(server, cluster);
            const text = JSON.stringify(nodes);
            if (text !== sent) yield nodes;
            sent = text;
            // A swarm has no events of tasks that end.
            const isLeaving = nodes.some(({ containers_leaving }) => containers_leaving > 0);
            await (isLeaving ? Promise.race([changed, delay(LEAVING_MS, undefined, { signal: ended })]) : changed);
            await delay(GATHER_MS, undefined, { signal: ended });
          } catch (cause) {
            if (!ended.aborted) throw cause;
          } finally {
            heard.abort();
          }
        }
      });
    },

    /** @throws DomainError `resource.not_found`, `resource.state`, `engine.unsupported`, `engine.unreachable` */
    async update(uuid: string, nodeId: string, asked: ClusterNodeUpdate): Promise<ClusterNode> {
      requireAbility(scope, "write");
      const { is_ingress, ...change } = asked;
      const server = await findServer(stores, uuid);
      await requireMayManage(context, server);
      requireStaying(server);
      const cluster = await clusterOf(context, server);
      const nodes = await cluster.nodes();
      const nodeServer = (await stores.servers.list()).items.find(
        ({ swarm_cluster, swarm_node_id }) => swarm_cluster === server.id && swarm_node_id === nodeId,
      );
      const node = namedNode(nodes, nodeId, nodeServer);
      if (node === undefined) throw notFound("Node");
      assertNodeChange(nodes, node, change, server.swarm_node_id);
      if (is_ingress !== undefined) {
        assertIngressChange(nodeServer, server, is_ingress);
        if (is_ingress) assertReady(node);
        // Its proxy would serve either those or the cluster.
        if (is_ingress && nodeServer.id !== server.id) await requireUnused(stores, nodeServer);
      }
      if (Object.keys(change).length > 0) await cluster.change(nodeId, change);
      const views = await view(server, cluster);
      await stores.transaction(async (tx) => {
        if (change.role !== undefined) await recordTolerance(tx, server, views);
        if (is_ingress !== undefined && nodeServer !== undefined && nodeServer.id !== server.id) {
          await tx.servers.update(nodeServer.uuid, { settings: { is_cluster_ingress: is_ingress } });
        }
        await appendNodeChanged(tx, server, { node: node.hostname, ...asked });
      });
      const changed = (is_ingress === undefined ? views : await view(server, cluster)).find(({ id }) => id === nodeId);
      if (changed === undefined) throw notFound("Node");
      return changed;
    },
  };
}

/** Else the server would say until its next validation how many managers there were. */
async function recordTolerance(
  stores: Stores,
  { uuid }: Pick<ServerRecord, "uuid">,
  nodes: readonly Pick<ClusterNode, "role">[] | undefined,
): Promise<void> {
  if (nodes === undefined) return;
  const head = await findServer(stores, uuid);
  const managers = nodes.filter(({ role }) => role === "manager").length;
  const validation_logs = withTolerance(head.validation_logs, managers);
  if (validation_logs !== head.validation_logs) await stores.servers.update(uuid, { validation_logs });
}

async function findOnNodes(stores: Stores, nodes: readonly SeenClusterNode[]): Promise<OnNodes> {
  const owners = nodes.flatMap(({ storages }) => storages.map(volumeOwner));
  const storageOwners = await stores.storages.ownersAmong(
    owners.flatMap((owner) => ("storage" in owner ? owner.storage : [])),
  );
  const named = await stores.resources.ownAmong(
    new Set([
      ...nodes.flatMap(({ resources }) => [...resources.keys()]),
      ...owners.flatMap((owner) => ("resource" in owner ? owner.resource : [])),
      ...storageOwners.values(),
    ]),
  );
  return { named, storageOwners };
}

const LEAVING_MS = 1000;
/** The containers of a node that is drained come and go together. */
const GATHER_MS = 200;

/** Makes clusters of servers. What it did is recorded by a validation, which follows. */
export function clusters(context: UseCaseContext) {
  const { scope, stores, membershipFor } = context;

  function membershipOf(server: ServerRecord): ClusterMembership {
    const membership = ENGINES[server.engine].hasContainers ? membershipFor?.(server) : undefined;
    if (membership !== undefined) return membership;
    throw new DomainError(
      "engine.unsupported",
      `Server ${server.name} has no Docker engine that could be in a cluster.`,
    );
  }

  async function recorded(server: ServerRecord, change: string, message: string): Promise<JobStarted> {
    const job = await stores.transaction(async (tx) => {
      await appendNodeChanged(tx, server, { change });
      return await requestValidation(context, tx, await findServer(tx, server.uuid));
    });
    return { message, job_uuid: job.uuid };
  }

  return {
    /** @throws DomainError `resource.state`, `engine.unsupported`, `engine.unreachable`, `engine.failed` */
    async create(uuid: string, { advertise_address, address_pool }: ClusterCreate): Promise<JobStarted> {
      requireAbility(scope, "write");
      const server = await findServer(stores, uuid);
      await requireMayManage(context, server);
      requireStaying(server);
      assertNoNode(server);
      const membership = membershipOf(server);
      await requireUnused(stores, server);
      await membership.create({ address: advertise_address ?? server.ip, addressPool: address_pool });
      return await recorded(server, "created", "Cluster created. The server is being validated.");
    },

    /** @throws DomainError as `create` */
    async join(uuid: string, { manager_uuid, role = "worker", advertise_address }: ClusterJoin): Promise<JobStarted> {
      requireAbility(scope, "write");
      const server = await findServer(stores, uuid);
      const manager = await stores.servers.find(manager_uuid);
      if (manager === undefined) throw invalid({ manager_uuid: ["Server not found."] });
      await requireMayManage(context, manager);
      assertMayJoin(server);
      requireStaying(server);
      const membership = membershipOf(server);
      const cluster = await clusterOf(context, manager);
      const nodeIds = (await cluster.nodes()).flatMap(({ id, isManager }) =>
        isManager === (role === "manager") ? id : [],
      );
      const invitation = await cluster.invitation(role);
      await membership.join({ ...invitation, address: advertise_address ?? server.ip, nodeIds });
      if (role === "manager") await recordTolerance(stores, manager, await rolesIn(cluster));
      return await recorded(server, "joined", `Joined the cluster of ${manager.name}. The server is being validated.`);
    },

    /** @throws DomainError as `create` */
    async leave(uuid: string, change: ClusterLeave): Promise<JobStarted> {
      requireAbility(scope, "write");
      const server = await findServer(stores, uuid);
      const head = await headOf(stores, server);
      await requireMayManage(context, head ?? server);
      requireStaying(server);
      const { swarm_node_id: nodeId, name } = server;
      if (nodeId === null) throw new DomainError("resource.state", `Server ${name} is not a node of a cluster.`);
      const membership = membershipOf(server);
      if (head === undefined || head.id === server.id) {
        await requireUnused(stores, server);
        await membership.leave({ isForced: true });
        return await recorded(server, "left", "Left the cluster. The server is being validated.");
      }
      const cluster = await clusterOf(context, head);
      const nodes = await cluster.nodes();
      const node = namedNode(nodes, nodeId, server);
      if (node !== undefined) {
        assertMayLeave(nodes, node, change);
        // A manager that left without this would count as one that does not answer.
        if (node.isManager) await cluster.change(nodeId, { role: "worker" });
      }
      await membership.leave({ isForced: true });
      await cluster.remove(nodeId);
      if (node?.isManager) await recordTolerance(stores, head, await rolesIn(cluster));
      // Otherwise it would take requests again as soon as it joins a cluster later.
      if (server.settings.is_cluster_ingress) {
        await stores.servers.update(uuid, { settings: { is_cluster_ingress: false } });
      }
      return await recorded(server, "left", `Left the cluster of ${head.name}. The server is being validated.`);
    },

    /** @throws DomainError `resource.not_found`, `engine.unsupported`, `engine.unreachable`, `engine.failed` */
    async rotateTokens(uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      const server = await findServer(stores, uuid);
      await requireMayManage(context, server);
      requireStaying(server);
      await (await clusterOf(context, server)).rotateTokens();
      await stores.transaction((tx) => appendNodeChanged(tx, server, { change: "tokens_rotated" }));
      return { message: `The tokens to join the cluster of ${server.name} are new. Its nodes stay.` };
    },
  };
}

function namedNode(
  nodes: readonly SeenClusterNode[],
  nodeId: string,
  server: Pick<ServerRecord, "name"> | undefined,
): NamedClusterNode | undefined {
  const node = nodes.find(({ id }) => id === nodeId);
  return node && { ...node, name: server?.name ?? node.hostname };
}

/** `undefined` while the managers choose another leader, as they do when their number changes. */
async function rolesIn(cluster: ClusterOperations): Promise<readonly Pick<ClusterNode, "role">[] | undefined> {
  const nodes = await cluster.nodes().catch(() => undefined);
  return nodes?.map(({ isManager }) => ({ role: isManager ? "manager" : "worker" }));
}

const appendNodeChanged = (tx: Stores, server: ServerRecord, change: Readonly<Record<string, unknown>>) =>
  tx.events.append({
    type: "server.node_changed",
    resource_uuid: server.uuid,
    payload: { name: server.name, ...change },
  });

async function clusterOf(
  { engineFor }: Pick<UseCaseContext, "engineFor">,
  server: ServerRecord,
): Promise<ClusterOperations> {
  const { cluster } = await engineFor(server);
  if (cluster !== undefined) return cluster;
  const message = `Server ${server.name} manages no cluster. Use a server whose engine is a Docker Swarm.`;
  throw new DomainError("engine.unsupported", message);
}

/**
 * The managers of a cluster control all of its machines, so only the operator changes one with Berth's own machine.
 * @param server The server that manages the cluster, or will.
 * @throws DomainError `auth.missing_ability`, `auth.root_team_only`
 */
async function requireMayManage({ scope, stores }: UseCaseContext, server: ServerRecord): Promise<void> {
  const { items } = await stores.servers.list();
  const machines = [server, ...items.filter(({ swarm_cluster }) => swarm_cluster === server.id)];
  if (machines.some(isOnOwnMachine)) requireOperator(scope);
}

/** The server that manages the cluster of this one; `undefined` if none is recorded. */
const headOf = async (stores: Stores, { swarm_cluster }: ServerRecord): Promise<ServerRecord | undefined> =>
  swarm_cluster === null ? undefined : await stores.servers.findById(swarm_cluster);

/** @throws DomainError `resource.state` for a server with resources, also of applications that other servers run too */
async function requireUnused(stores: Stores, server: ServerRecord): Promise<void> {
  const { total } = await stores.resources.list({ server_id: server.id }, { skip: 0, take: 1 });
  if (total > 0) {
    const count = total === 1 ? "1 resource" : `${total} resources`;
    throw new DomainError("resource.state", `Server ${server.name} has ${count}. Delete them, or use another server.`);
  }
  const [attached] = await stores.resources.listStaying(server.id, 1);
  if (attached === undefined) return;
  const message = `Server ${server.name} runs ${attached.name} beside another server. Remove it there first: berth app remove-server ${attached.name} ${server.name}`;
  throw new DomainError("resource.state", message);
}
