import type { ClusterOperations, SeenClusterNode } from "@berth/core/ports";

/** The only node of the cluster that a server manages in tests, which changes nothing. */
export const testNodeId = (serverUuid: string): string => `node-${serverUuid}`;

export function testCluster(serverUuid: string): ClusterOperations {
  const node: SeenClusterNode = {
    ...{ id: testNodeId(serverUuid), hostname: "web-1", address: "192.0.2.1", state: "ready", availability: "active" },
    ...{ isManager: true, isLeader: true, isReachable: true, engineVersion: "26.1.5", cpus: 2, memoryBytes: 1 << 30 },
    ...{ containers: 0, leaving: 0, resources: new Map(), storages: [], labels: {}, load: null },
  };
  return {
    nodes: async () => [node],
    changed: (signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })),
    requireLeader: async () => undefined,
    change: async () => undefined,
    remove: async () => undefined,
    invitation: async () => ({ token: "t0ken", managers: ["192.0.2.1:2377"] }),
    rotateTokens: async () => undefined,
  };
}
