import { isDomainError } from "@berth/core";
import type { ClaimedBackup, ClaimedRestore } from "@berth/core/ports";
import { createLeaseRunner, type LeaseRunner, pruning } from "../lease-runner.ts";
import type { ScheduledKind } from "../scheduler.ts";
import type { WakeSignal } from "../wake-signal.ts";
import { runRestore, STAGE } from "./restore.ts";
import { removeCopies } from "./retention.ts";
import { runBackup } from "./run.ts";
import type { BackupDeps } from "./tools.ts";

/** A due run waits among the executions until a worker that reaches its server takes it. */
export const scheduledBackup: ScheduledKind = {
  begin: (stores, { subjectId, dueAt }) => stores.backups.begin(subjectId, dueAt),
};

/** Makes backups, restores them, and removes those that nobody knows any more. */
export function createBackupRunner(deps: BackupDeps, wakeSignal: WakeSignal): LeaseRunner {
  const { stores, settings, logger } = deps;
  const { backups: runs, restores } = stores;
  const prune = pruning(() => runs.prune(settings.backupExecutionsKept));
  const backups = createLeaseRunner<ClaimedBackup>(deps, wakeSignal, {
    title: "Backups",
    queue: "backup",
    concurrentMax: settings.concurrentBackupsMax,
    uuidOf: ({ execution_uuid }) => execution_uuid,
    requests: { queue: "requested_backup", begin: (serverIds) => runs.beginRequested(serverIds) },
    claim: (serverIds, request) => runs.claim(serverIds, request),
    renew: (...args) => runs.renew(...args),
    run: (claimed, signal) => runBackup(deps, claimed, signal),
    endAbandoned: (at) => runs.endAbandoned(at),
    async tidy(signal) {
      await removeCopies(deps, signal);
      await prune(signal);
    },
  });
  const restorer = createLeaseRunner<ClaimedRestore>(deps, wakeSignal, {
    title: "Restores",
    queue: "restore",
    concurrentMax: settings.concurrentBackupsMax,
    uuidOf: ({ uuid }) => uuid,
    claim: (serverIds, request) => restores.claim(serverIds, request),
    renew: (...args) => restores.renew(...args),
    run: (claimed, signal) => runRestore(deps, claimed, signal),
    endAbandoned: (at) => restores.endAbandoned(at),
    tidy: pruning(() => restores.prune(settings.backupExecutionsKept)),
  });
  return {
    async start() {
      // Nobody restores yet: what is there was left by one that was killed.
      await deps.backups.files.removeFolder(STAGE).catch((error: unknown) => {
        if (!isDomainError(error)) throw error;
        logger.warn("What restores left behind could not be removed.", { error });
      });
      backups.start();
      restorer.start();
    },
    async stop(options) {
      await Promise.all([backups.stop(options), restorer.stop(options)]);
    },
  };
}
