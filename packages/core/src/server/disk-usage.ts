import { Cron } from "croner";
import type { DiskSpace } from "../ports/server-machine.ts";
import { cronOf } from "../schedule/cron.ts";
import type { ServerSettings } from "./server-settings.ts";

type DiskRule = Pick<
  ServerSettings,
  "server_disk_usage_check_frequency" | "server_disk_usage_notification_threshold" | "server_timezone"
>;

/** Whether a disk check was due between `since`, the last check, and now. */
export function isDiskCheckDue(
  { server_disk_usage_check_frequency, server_timezone }: Omit<DiskRule, "server_disk_usage_notification_threshold">,
  since: Date,
  now: Date,
): boolean {
  const cron = new Cron(cronOf(server_disk_usage_check_frequency), {
    mode: "5-part",
    paused: true,
    timezone: server_timezone,
  });
  const next = cron.nextRun(since);
  return next !== null && next <= now;
}

export interface DiskUsage {
  readonly usedPercent: number;
  /** At or above the threshold. */
  readonly isHigh: boolean;
}

export function diskUsage(
  { totalBytes, freeBytes }: DiskSpace,
  { server_disk_usage_notification_threshold: threshold }: Pick<DiskRule, "server_disk_usage_notification_threshold">,
): DiskUsage {
  const usedPercent = totalBytes === 0 ? 0 : Math.round((1 - freeBytes / totalBytes) * 100);
  return { usedPercent, isHigh: usedPercent >= threshold };
}
