import { deployedKind, type Observed, type Operation, plan } from "@berth/core/deploy";
import { createHealthWatch } from "./health-watch.ts";
import type { Snapshot } from "./observe.ts";
import type { WorkerDeps } from "./ports.ts";
import { createRestartBackoff } from "./restart-backoff.ts";
import { createRestarts } from "./restarts.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { WorkerSettings } from "./settings.ts";

/** What is known of releases beyond one snapshot of them: what was tried, how often they restarted, their health. */
export interface ReleaseHistory {
  record(adapters: ServerAdapters, snapshot: Snapshot): void;
  /** Operations that bring the server from this snapshot to what is recorded. */
  plan(adapters: ServerAdapters, snapshot: Snapshot, sites: Observed["sites"]): readonly Operation[];
  /** A start of this deployment's release begins. */
  started(deploymentUuid: string): void;
  /** A change of the release's lasting name begins. */
  named(deploymentUuid: string): void;
  /** Its restarts are counted anew from here on. */
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
        unnamed: names.now(),
        restarts: restarts.now(server.id),
      }),
    started: (deploymentUuid) => starts.tried(deploymentUuid),
    named: (deploymentUuid) => names.tried(deploymentUuid),
    forgive: (deploymentUuid) => restarts.forgive(deploymentUuid),
    markHealthy: (deploymentUuid) => watch.markHealthy(deploymentUuid),
    stop: () => watch.stop(),
  };
}

function watchedOf({ wanted, releases, subjects }: Snapshot) {
  const states = new Map(releases.map((state) => [state.deploymentUuid, state]));
  return wanted.resources.flatMap(({ id, releases: records }) => {
    const subject = subjects.get(id);
    const check = subject && deployedKind(subject).healthCheck(subject);
    return records.flatMap(({ role, deploymentUuid }) => {
      const state = role === "live" ? states.get(deploymentUuid) : undefined;
      return state && check ? [{ state, check }] : [];
    });
  });
}
