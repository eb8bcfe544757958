import { type ReleaseState, withUnhealthyReplicas } from "@berth/core/deploy";

/** What Berth's own probes found of single replicas on a server: unhealthy ones get no requests. */
export interface ReplicaHealth {
  /** @param unhealthy Titles of all unhealthy replicas of the release. @returns Whether that is a change. */
  record(deploymentUuid: string, unhealthy: ReadonlySet<string>): boolean;
  /** The release's state with this health of its replicas. */
  appliedTo(state: ReleaseState): ReleaseState;
  forget(deploymentUuid: string): void;
}

export function replicaHealth(): ReplicaHealth {
  const known = new Map<string, ReadonlySet<string>>();
  return {
    record(deploymentUuid, unhealthy) {
      const before = known.get(deploymentUuid) ?? NONE;
      if (unhealthy.size === 0) known.delete(deploymentUuid);
      else known.set(deploymentUuid, unhealthy);
      return before.size !== unhealthy.size || [...before].some((title) => !unhealthy.has(title));
    },
    appliedTo: (state) => withUnhealthyReplicas(state, known.get(state.deploymentUuid) ?? NONE),
    forget: (deploymentUuid) => void known.delete(deploymentUuid),
  };
}

const NONE: ReadonlySet<string> = new Set();
