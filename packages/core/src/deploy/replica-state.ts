import { containerTitle } from "../compose/replicas.ts";
import type { ReleaseState } from "./release.ts";

/** The state of one container, as if its release had no other. */
export interface ReplicaState extends ReleaseState {
  /** Its title, by which an engine finds it; missing where the release has one container. */
  readonly container?: string;
}

/**
 * Each replica of an image; a release of one container is its own replica. `undefined` for a stack, whose containers
 * differ from each other.
 */
export function replicaStates({ containers, ...state }: ReleaseState): readonly ReplicaState[] | undefined {
  if (containers === undefined) return [state];
  if (containers.some(({ isReplica }) => isReplica !== true)) return undefined;
  const { resourceUuid, deploymentUuid } = state;
  return containers.map((one) => ({
    resourceUuid,
    deploymentUuid,
    state: one.state,
    upstream: one.address === null || one.port === null ? null : { host: one.address, port: one.port },
    restartCount: one.restartCount,
    exitCode: one.exitCode,
    startedAt: one.startedAt,
    ...(one.health === undefined ? {} : { health: one.health }),
    container: containerTitle(one),
  }));
}

/**
 * The state with what was found of single replicas by probing them, where their engine does not check them itself.
 * @param unhealthy Titles of those that do not answer as they should.
 */
export function withUnhealthyReplicas(state: ReleaseState, unhealthy: ReadonlySet<string>): ReleaseState {
  if (state.containers === undefined || unhealthy.size === 0) return state;
  const containers = state.containers.map((one) =>
    one.isReplica && one.health === undefined && unhealthy.has(containerTitle(one))
      ? { ...one, health: "unhealthy" as const }
      : one,
  );
  return { ...state, containers };
}
