import type { ReleaseState } from "@berth/core/deploy";
import { retryBackoff } from "./retry-backoff.ts";
import type { WorkerSettings } from "./settings.ts";

/** Live releases that must wait before their next start. */
export interface RestartBackoff {
  tried(deploymentUuid: string): void;
  /** @param problem Why the start failed, and what to do. */
  failed(deploymentUuid: string, problem: string): void;
  seen(releases: readonly ReleaseState[]): void;
  now(): ReadonlySet<string>;
  /** Why the last starts failed. */
  problems(): ReadonlyMap<string, string>;
}

export function createRestartBackoff(settings: Pick<WorkerSettings, "restSeconds" | "restSecondsMax">): RestartBackoff {
  const backoff = retryBackoff({ firstSeconds: settings.restSeconds, secondsMax: settings.restSecondsMax });
  const problems = new Map<string, string>();
  return {
    tried(deploymentUuid) {
      backoff.failed(deploymentUuid);
      // The others are gone.
      for (const uuid of problems.keys()) if (!backoff.hasFailed(uuid)) problems.delete(uuid);
    },
    failed: (deploymentUuid, problem) => void problems.set(deploymentUuid, problem),
    seen(releases) {
      // A release that ran for as long as its backoff counts as recovered.
      for (const { deploymentUuid, state } of releases) {
        if (state !== "running") continue;
        problems.delete(deploymentUuid);
        if (!backoff.isResting(deploymentUuid)) backoff.succeeded(deploymentUuid);
      }
    },
    now: () => backoff.resting(),
    problems: () => problems,
  };
}
