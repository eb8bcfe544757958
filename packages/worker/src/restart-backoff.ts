import type { ReleaseState } from "@berth/core/deploy";
import { retryBackoff } from "./retry-backoff.ts";
import type { WorkerSettings } from "./settings.ts";

/** Live releases that must wait before their next start. */
export interface RestartBackoff {
  tried(deploymentUuid: string): void;
  seen(releases: readonly ReleaseState[]): void;
  now(): ReadonlySet<string>;
}

export function createRestartBackoff(settings: Pick<WorkerSettings, "restSeconds" | "restSecondsMax">): RestartBackoff {
  const backoff = retryBackoff({ firstSeconds: settings.restSeconds, secondsMax: settings.restSecondsMax });
  return {
    tried: (deploymentUuid) => void backoff.failed(deploymentUuid),
    seen(releases) {
      // A release that ran for as long as its backoff counts as recovered.
      for (const { deploymentUuid, state } of releases)
        if (state === "running" && !backoff.isResting(deploymentUuid)) backoff.succeeded(deploymentUuid);
    },
    now: () => backoff.resting(),
  };
}
