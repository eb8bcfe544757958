import type { ClusterOperations, SeenClusterNode } from "@berth/core/ports";
import { statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import { updateNode } from "./nodes.ts";
import { storagesOn } from "./placement.ts";
import type { Services } from "./services.ts";

interface NodeAnswer {
  readonly ID: string;
  readonly Spec: {
    readonly Role?: string;
    readonly Availability?: string;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
  readonly Description?: {
    readonly Hostname?: string;
    readonly Resources?: { readonly NanoCPUs?: number; readonly MemoryBytes?: number };
    readonly Engine?: { readonly EngineVersion?: string };
  };
  readonly Status: { readonly State: string; readonly Addr?: string };
  readonly ManagerStatus?: { readonly Leader?: boolean; readonly Reachability?: string; readonly Addr?: string };
}

interface SwarmAnswer {
  readonly JoinTokens: { readonly Worker: string; readonly Manager: string };
}

/** The nodes of a swarm, by a manager. */
export const clusterOperations = (docker: Docker, services: Services): ClusterOperations => ({
  async nodes() {
    const [found, tasks] = await Promise.all([
      docker.listNodes() as Promise<readonly NodeAnswer[]>, // Typed as any by the library.
      services.wantedTasks(),
    ]);
    return found.map((node) => seenNode(node, tasks.filter(({ NodeID }) => NodeID === node.ID).length));
  },
  change: (nodeId, { role, availability }) =>
    updateNode(docker, nodeId, (spec) => ({
      ...spec,
      ...(role === undefined ? {} : { Role: role }),
      ...(availability === undefined ? {} : { Availability: availability }),
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
      docker.listNodes() as Promise<readonly NodeAnswer[]>,
    ]);
    const { JoinTokens: tokens } = swarm;
    const managers = nodes.flatMap(({ ManagerStatus: status }) =>
      status?.Reachability === "reachable" && status.Addr ? status.Addr : [],
    );
    return { token: role === "manager" ? tokens.Manager : tokens.Worker, managers };
  },
});

function seenNode({ ID, Spec, Description, Status, ManagerStatus }: NodeAnswer, containers: number): SeenClusterNode {
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
    containers,
    storages: storagesOn(Spec.Labels ?? {}),
  };
}
