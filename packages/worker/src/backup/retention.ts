import { BACKUP_PLACES, expiredCopies, retentionRule } from "@berth/core/backup";
import type { ClaimedBackup } from "@berth/core/ports";
import { type BackupDeps, openStorage } from "./tools.ts";

/** Marks copies for removal by the schedule's current retention rules, which may have changed since the claim. */
export async function applyRetention(
  { stores, clock }: Pick<BackupDeps, "stores" | "clock">,
  { schedule_id, schedule_uuid, resource_id, team_id }: ClaimedBackup,
): Promise<void> {
  const schedule = await stores.forTeam(team_id).backups.find(resource_id, schedule_uuid);
  if (schedule === undefined) return;
  for (const place of BACKUP_PLACES) {
    const copies = await stores.backups.copies(schedule_id, place);
    const going = expiredCopies(copies, retentionRule(schedule.settings, place), clock.now());
    if (going.length > 0) {
      await stores.backups.giveUp(
        going.map(({ uuid }) => uuid),
        place,
      );
    }
  }
}

/** Removes copies that no execution references. If that fails, the next round tries again. */
export async function removeCopies(deps: BackupDeps, signal: AbortSignal): Promise<void> {
  const { stores, backups, logger } = deps;
  for (const removal of await stores.backups.removals(await backups.files.folder(), AT_ONCE)) {
    if (signal.aborted) return;
    try {
      if (removal.place === "local") await backups.files.remove(removal.filename);
      else {
        const { team_id, s3_storage_uuid: uuid, s3_key } = removal;
        const limit = AbortSignal.any([signal, AbortSignal.timeout(REMOVAL_MS_MAX)]);
        await (await openStorage(deps, { team_id, uuid })).remove(s3_key, limit);
      }
      await stores.backups.removed(removal.id);
    } catch (error) {
      logger.warn("A copy of a backup could not be removed; Berth will retry.", { ...removal, error });
    }
  }
}

const AT_ONCE = 50;
export const REMOVAL_MS_MAX = 60_000;
