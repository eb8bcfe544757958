import { type Observed, type Operation, plan } from "@berth/core/deploy";
import { createHealthWatch } from "./health-watch.ts";
import type { Snapshot } from "./observe.ts";
import type { WorkerDeps } from "./ports.ts";
import { createRestartBackoff } from "./restart-backoff.ts";
import { createRestarts } from "./restarts.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { WorkerSettings } from "./settings.ts";

/** Facts about releases beyond one snapshot: attempted starts, restart counts, health. */
export interface ReleaseHistory {
  record(adapters: ServerAdapters, snapshot: Snapshot): void;
  /** Plans the operations that bring the server from this snapshot to the recorded state. */
  plan(adapters: ServerAdapters, snapshot: Snapshot, sites: Observed["sites"]): readonly Operation[];
  /** Called before a start of this deployment's release. */
  started(deploymentUuid: string): void;
  /** Called when the start of this deployment's release failed. @param problem Why, and what to do. */
  startFailed(deploymentUuid: string, problem: string): void;
  /** Called before the release gets its permanent name. */
  named(deploymentUuid: string): void;
  /** Restarts its count of restarts. */
  forgive(deploymentUuid: string): void;
  markHealthy(deploymentUuid: string): void;
  stop(): Promise<void>;
}

export interface ReleaseHistoryDeps extends Pick<WorkerDeps, "logger" | "clock"> {
  readonly settings: WorkerSettings;
}

/** @param onChange Called when the health of a release changed. */
export function createReleaseHistory(deps: ReleaseHistoryDeps, onChange: () => void): ReleaseHistory {
  const starts = createRestartBackoff(deps.settings);
  const names = createRestartBackoff(deps.settings);
  const restarts = createRestarts(deps.clock);
  const watch = createHealthWatch(deps, onChange);
  return {
    record(adapters, snapshot) {
      const { releases } = snapshot;
      starts.seen(releases);
      names.seen(releases.filter(({ containerName: name }) => name?.now === name?.wanted));
      restarts.seen(adapters.server.id, releases);
      watch.probe(adapters, watchedOf(snapshot));
    },
    plan: ({ server }, { wanted, releases }, sites) =>
      plan(wanted, {
        releases,
        health: watch.health(releases),
        sites,
        backingOff: starts.now(),
        startProblems: starts.problems(),
        unnamed: names.now(),
        restarts: restarts.now(server.id),
      }),
    started: (deploymentUuid) => starts.tried(deploymentUuid),
    startFailed: (deploymentUuid, problem) => starts.failed(deploymentUuid, problem),
    named: (deploymentUuid) => names.tried(deploymentUuid),
    forgive: (deploymentUuid) => restarts.forgive(deploymentUuid),
    markHealthy: (deploymentUuid) => watch.markHealthy(deploymentUuid),
    stop: () => watch.stop(),
  };
}

function watchedOf({ wanted, releases, facts }: Snapshot) {
  const states = new Map(releases.map((state) => [state.deploymentUuid, state]));
  return wanted.resources.flatMap(({ id, releases: records }) => {
    const check = facts.get(id)?.healthCheck;
    return records.flatMap(({ role, deploymentUuid }) => {
      const state = role === "live" ? states.get(deploymentUuid) : undefined;
      return state && check ? [{ state, check }] : [];
    });
  });
}
