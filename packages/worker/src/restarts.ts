import type { ReleaseState } from "@berth/core/deploy";
import type { Clock } from "@berth/core/ports";

/** Counts restarts of releases since they last ran steadily. */
export interface Restarts {
  /** Records all releases of one server. */
  seen(serverId: number, releases: readonly ReleaseState[]): void;
  /** Restart counts of one server, by deployment uuid. */
  now(serverId: number): ReadonlyMap<string, number>;
  /** Begins a new count. */
  forgive(deploymentUuid: string): void;
}

interface Counted {
  /** The engine's count when this count began. */
  readonly from: number;
  readonly to: number;
}

export function createRestarts({ now }: Clock): Restarts {
  const servers = new Map<number, ReadonlyMap<string, Counted>>();
  const forgiven = new Set<string>();

  const count = ({ deploymentUuid, state, startedAt, restartCount }: ReleaseState, before?: Counted): Counted => {
    const ranMs = state === "running" && startedAt !== null ? now().getTime() - startedAt.getTime() : 0;
    // The times of restarts before the first observation are unknown, and engines reset their count after a stop.
    const isNew = before === undefined || restartCount < before.from;
    if (isNew || ranMs > STEADY_SECONDS * 1000 || forgiven.delete(deploymentUuid)) {
      return { from: restartCount, to: restartCount };
    }
    return { from: before.from, to: restartCount };
  };

  return {
    seen(serverId, releases) {
      const before = servers.get(serverId);
      // One that runs for so long is steady: its count begins once it is known.
      const known = releases.filter(({ isUncounted }) => isUncounted !== true);
      const counted = known.map((release) => {
        return [release.deploymentUuid, count(release, before?.get(release.deploymentUuid))] as const;
      });
      servers.set(serverId, new Map(counted));
    },
    now: (serverId) => new Map([...(servers.get(serverId) ?? [])].map(([uuid, { from, to }]) => [uuid, to - from])),
    forgive: (deploymentUuid) => void forgiven.add(deploymentUuid),
  };
}

/** A release that ran this long is steady: Docker waits at most a minute between two restarts. */
const STEADY_SECONDS = 600;
