import { Cron } from "croner";
import type { DiskSpace } from "../ports/server-machine.ts";
import { cronOf } from "../schedule/cron.ts";
import type { ServerSettings } from "./server-settings.ts";

type DiskRule = Pick<
  ServerSettings,
  "server_disk_usage_check_frequency" | "server_disk_usage_notification_threshold" | "server_timezone"
>;

/** When the disk check after `since`, the last one, is due; `null`: never. */
export function nextDiskCheck(
  { server_disk_usage_check_frequency, server_timezone }: Omit<DiskRule, "server_disk_usage_notification_threshold">,
  since: Date,
): Date | null {
  const cron = new Cron(cronOf(server_disk_usage_check_frequency), {
    mode: "5-part",
    paused: true,
    timezone: server_timezone,
  });
  return cron.nextRun(since);
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
