import type { ReleaseState } from "@berth/core/deploy";
import type { WorkerSettings } from "./settings.ts";

/** Live releases that must wait before their next start. */
export interface RestartBackoff {
  tried(deploymentUuid: string): void;
  seen(releases: readonly ReleaseState[]): void;
  now(): ReadonlySet<string>;
}

export function createRestartBackoff(settings: Pick<WorkerSettings, "restSeconds" | "restSecondsMax">): RestartBackoff {
  const tries = new Map<string, { readonly count: number; readonly untilMs: number }>();
  return {
    tried(deploymentUuid) {
      const count = (tries.get(deploymentUuid)?.count ?? 0) + 1;
      const seconds = Math.min(settings.restSeconds * 2 ** (count - 1), settings.restSecondsMax);
      tries.set(deploymentUuid, { count, untilMs: performance.now() + seconds * 1000 });
    },
    seen(releases) {
      // A release that ran for as long as its backoff counts as recovered.
      for (const { deploymentUuid, state } of releases) {
        const tried = tries.get(deploymentUuid);
        if (state === "running" && tried !== undefined && performance.now() > tried.untilMs)
          tries.delete(deploymentUuid);
      }
    },
    now() {
      const nowMs = performance.now();
      return new Set([...tries].filter(([, { untilMs }]) => nowMs < untilMs).map(([uuid]) => uuid));
    },
  };
}
