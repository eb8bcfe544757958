import { isDomainError } from "@berth/core";
import type { ClaimedBackup, ClaimedRestore } from "@berth/core/ports";
import { createLeaseRunner, type LeaseRunner, pruning } from "../lease-runner.ts";
import type { ScheduledKind } from "../scheduler.ts";
import type { WakeSignal } from "../wake-signal.ts";
import { removeCopies } from "./retention.ts";
import { type BackupDeps, RESTORE_FOLDER } from "./tools.ts";

/** A due run becomes a queued execution, claimed by a worker that reaches its server. */
export const scheduledBackup: ScheduledKind = {
  begin: (stores, { subjectId, dueAt }) => stores.backups.begin(subjectId, dueAt),
};

/** Runs backups and restores, and removes unreferenced copies. */
export function createBackupRunner(deps: BackupDeps, wakeSignal: WakeSignal): LeaseRunner {
  const { stores, settings, logger } = deps;
  const { backups: runs, restores } = stores;
  const prune = pruning(() => runs.prune(settings.backupExecutionsKept));
  const backups = createLeaseRunner<ClaimedBackup>(deps, wakeSignal, {
    title: "Backups",
    queues: ["backup", "requested_backup"],
    topic: "backup",
    concurrentMax: settings.concurrentBackupsMax,
    uuidOf: ({ execution_uuid }) => execution_uuid,
    async prepare(servers, busy) {
      if (busy.has("requested_backup")) await runs.beginRequested(servers.map(({ id }) => id));
    },
    claim: (serverIds, request) => runs.claim(serverIds, request),
    renew: (...asked) => runs.renew(...asked),
    unrenewed: "gone",
    // Loaded with the first backup, which many instances never make; restores likewise.
    run: async (claimed, keeper) => (await import("./run.ts")).runBackup(deps, claimed, keeper),
    endAbandoned: (at) => runs.endAbandoned(at),
    async tidy(signal, busy) {
      if (busy.has("backup_removal")) await removeCopies(deps, signal);
      await prune(signal);
    },
  });
  const restorer = createLeaseRunner<ClaimedRestore>(deps, wakeSignal, {
    title: "Restores",
    queues: ["restore"],
    topic: "backup",
    concurrentMax: settings.concurrentBackupsMax,
    uuidOf: ({ uuid }) => uuid,
    claim: (serverIds, request) => restores.claim(serverIds, request),
    renew: (...asked) => restores.renew(...asked),
    unrenewed: "gone",
    run: async (claimed, keeper) => (await import("./restore.ts")).runRestore(deps, claimed, keeper),
    endAbandoned: (at) => restores.endAbandoned(at),
    tidy: pruning(() => restores.prune(settings.backupExecutionsKept)),
  });
  return {
    pause() {
      backups.pause();
      restorer.pause();
    },
    resume() {
      backups.resume();
      restorer.resume();
    },
    async start() {
      // No restore runs yet, so all files here are from a killed process.
      await deps.backups.files.removeFolder(RESTORE_FOLDER).catch((error: unknown) => {
        if (!isDomainError(error)) throw error;
        logger.warn("Temporary files of restores could not be removed.", { error });
      });
      backups.start();
      restorer.start();
    },
    async stop(options) {
      await Promise.all([backups.stop(options), restorer.stop(options)]);
    },
  };
}
