import { Cron } from "croner";
import type { DiskSpace } from "../ports/server-machine.ts";
import { cronOf } from "../schedule/cron.ts";
import type { ServerSettings } from "./server-settings.ts";

type Rule = Pick<
  ServerSettings,
  "server_disk_usage_check_frequency" | "server_disk_usage_notification_threshold" | "server_timezone"
>;

/** Whether the time for a look at the disk came after `since`, the look before. */
export function isDiskCheckDue(
  { server_disk_usage_check_frequency, server_timezone }: Omit<Rule, "server_disk_usage_notification_threshold">,
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
  /** As full as the threshold, or fuller. */
  readonly isHigh: boolean;
}

export function diskUsage(
  { totalBytes, freeBytes }: DiskSpace,
  { server_disk_usage_notification_threshold: threshold }: Pick<Rule, "server_disk_usage_notification_threshold">,
): DiskUsage {
  const usedPercent = totalBytes === 0 ? 0 : Math.round((1 - freeBytes / totalBytes) * 100);
  return { usedPercent, isHigh: usedPercent >= threshold };
}
