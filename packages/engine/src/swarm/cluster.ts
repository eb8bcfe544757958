import type { ClusterOperations, SeenClusterNode } from "@berth/core/ports";
import { countsOf } from "@berth/core/server";
import { LABELS, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import type { Managers } from "./managers.ts";
import { NodeLoads } from "./node-loads.ts";
import { changedLabels, listNodes, type NodeAnswer, type ReadNodes, updateNode } from "./nodes.ts";
import { storagesOn } from "./placement.ts";
import type { Services, Task } from "./services.ts";

interface SwarmAnswer {
  readonly Version: { readonly Index: number };
  readonly Spec: object;
  readonly JoinTokens: { readonly Worker: string; readonly Manager: string };
}

interface ClusterView {
  readonly services: Services;
  readonly managers: Managers;
  /** Nodes that are servers of Berth's. */
  readonly adapters: ReadNodes;
  readonly loads?: NodeLoads;
}

/** The nodes of a swarm, by a manager. */
export const clusterOperations = (
  docker: Docker,
  { services, managers, adapters, loads = new NodeLoads() }: ClusterView,
): Omit<ClusterOperations, "changed"> => ({
  async nodes() {
    const [found, reached] = await Promise.all([managers.nodes(), adapters()]);
    const tasks = Map.groupBy(await services.allTasks(), ({ NodeID = "" }) => NodeID);
    return await Promise.all(
      found.map(async (node) => {
        const machine = node.Status.State === "ready" ? reached.find(({ id }) => id === node.ID) : undefined;
        const load = machine === undefined ? null : await loads.of(machine);
        return { ...seenNode(node, tasks.get(node.ID) ?? []), load };
      }),
    );
  },
  async requireLeader() {
    await managers.nodes();
  },
  change: (nodeId, { role, availability, labels }) =>
    updateNode(docker, nodeId, (spec) => ({
      ...spec,
      ...(role === undefined ? {} : { Role: role }),
      ...(availability === undefined ? {} : { Availability: availability }),
      ...(labels === undefined ? {} : { Labels: changedLabels(spec.Labels ?? {}, labels) }),
    })),
  async remove(nodeId) {
    try {
      await docker.getNode(nodeId).remove({ force: true });
    } catch (cause) {
      if (statusCodeOf(cause) !== 404) throw cause;
    }
  },
  async invitation(role) {
    const [swarm, nodes] = await Promise.all([
      docker.swarmInspect() as Promise<SwarmAnswer>, // Typed as any by the library.
      listNodes(docker),
    ]);
    const { JoinTokens: tokens } = swarm;
    const managers = nodes.flatMap(({ ManagerStatus: status }) =>
      status?.Reachability === "reachable" && status.Addr ? status.Addr : [],
    );
    return { token: role === "manager" ? tokens.Manager : tokens.Worker, managers };
  },
  async rotateTokens() {
    const { Spec, Version } = (await docker.swarmInspect()) as SwarmAnswer; // Typed as any by the library.
    const query = { version: Version.Index, rotateWorkerToken: true, rotateManagerToken: true };
    await docker.swarmUpdate({ _query: query, _body: Spec });
  },
});

function seenNode(
  { ID, Spec, Description, Status, ManagerStatus }: NodeAnswer,
  tasks: readonly Task[],
): Omit<SeenClusterNode, "load"> {
  const wanted = tasks.filter(({ DesiredState }) => DesiredState === "running");
  const { Resources: resources, Engine: engine } = Description ?? {};
  return {
    id: ID,
    hostname: Description?.Hostname ?? "",
    address: Status.Addr || null,
    isManager: Spec.Role === "manager",
    isLeader: ManagerStatus?.Leader === true,
    isReachable: ManagerStatus?.Reachability === "reachable",
    availability: Spec.Availability === "pause" || Spec.Availability === "drain" ? Spec.Availability : "active",
    state: Status.State,
    engineVersion: engine?.EngineVersion ?? null,
    cpus: resources?.NanoCPUs === undefined ? null : resources.NanoCPUs / 1e9,
    memoryBytes: resources?.MemoryBytes ?? null,
    containers: wanted.length,
    leaving: tasks.filter((task) => !wanted.includes(task) && task.Status.State === "running").length,
    resources: countsOf(wanted.flatMap(({ Spec: own }) => own.ContainerSpec?.Labels?.[LABELS.resource] ?? [])),
    storages: storagesOn(Spec.Labels ?? {}),
    labels: Spec.Labels ?? {},
  };
}
