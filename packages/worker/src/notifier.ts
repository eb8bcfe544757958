import { type DeliveryResult, notificationOf, retryInSeconds } from "@berth/core/notification";
import type { ClaimedDelivery, SystemStores } from "@berth/core/ports";
import { pruning } from "./lease-runner.ts";
import { createLoops, type Loops } from "./loop.ts";
import type { Logger, NotificationOptions } from "./ports.ts";
import type { WorkerSettings } from "./settings.ts";
import type { WakeSignal } from "./wake-signal.ts";

export interface NotifierDeps {
  readonly stores: Pick<SystemStores, "notifications" | "queues">;
  readonly notifications: NotificationOptions;
  readonly settings: Pick<WorkerSettings, "idleSeconds" | "notificationKeptDays" | "notificationLeaseSeconds">;
  readonly logger: Logger;
}

/** Sends the deliveries that were written with their events. A crash loses none, and may send one twice. */
export function createNotifier(deps: NotifierDeps, wakeSignal: WakeSignal): Loops {
  const { settings, logger, notifications } = deps;
  const { queues, notifications: queue } = deps.stores;
  const running = new Set<ClaimedDelivery>();
  /** When the first of the retries that this worker recorded is due. */
  let retryMs = Number.POSITIVE_INFINITY;

  const sendDue = async (stopping: AbortSignal) => {
    const isRetryDue = performance.now() >= retryMs;
    if (!isRetryDue && !(await queues.busy()).has("notification")) return;
    if (isRetryDue) retryMs = Number.POSITIVE_INFINITY;
    while (running.size < AT_ONCE_MAX && !stopping.aborted) {
      const claimed = await queue.claim({
        countMax: AT_ONCE_MAX - running.size,
        perTeamMax: AT_ONCE_OF_TEAM_MAX,
        running: [...running].map(({ team_id }) => team_id),
        leaseSeconds: settings.notificationLeaseSeconds,
      });
      if (claimed.length === 0) break;
      for (const delivery of claimed) begin(delivery);
    }
  };

  const untilNextLook = () => Math.max(0, Math.min(settings.idleSeconds, (retryMs - performance.now()) / 1000));

  const begin = (delivery: ClaimedDelivery) => {
    running.add(delivery);
    void sendOne(delivery)
      .catch((error: unknown) => {
        const { uuid } = delivery;
        logger.debug("The result of a notification could not be recorded. It will be sent again.", { uuid, error });
      })
      .finally(() => {
        running.delete(delivery);
        wakeSignal.notify("notification");
      });
  };

  const sendOne = async (delivery: ClaimedDelivery) => {
    const result = await resultOf(delivery);
    const retrySeconds = result.isDelivered ? undefined : retryInSeconds(delivery.attempts, result);
    await queue.record(delivery, result, retrySeconds);
    if (retrySeconds !== undefined) retryMs = Math.min(retryMs, performance.now() + retrySeconds * 1000 + CLOCK_MS);
  };

  const resultOf = async (delivery: ClaimedDelivery): Promise<DeliveryResult> => {
    const { uuid, kind, settings: channel, memberAddresses } = delivery;
    if (channel === undefined) return { isDelivered: false, problem: "The channel was turned off.", isFinal: true };
    const notification = notificationOf(delivery.event, delivery.facts, notifications.instanceUrl);
    // Of a release with other notifications.
    if (notification === undefined) return { isDelivered: false, problem: "This event is unknown.", isFinal: true };
    return await notifications.send({ uuid, kind, settings: channel, notification, memberAddresses });
  };

  const prune = pruning(() => queue.prune(settings.notificationKeptDays));
  const wake = { signal: wakeSignal, topics: ["notification"] } as const;
  return createLoops(logger, [
    { title: "Sending notifications", work: sendDue, seconds: untilNextLook, wake },
    { title: "Deleting old notifications", work: prune, seconds: () => PRUNE_SECONDS },
  ]);
}

/** The database's clock is read a moment later. */
const CLOCK_MS = 50;
const AT_ONCE_MAX = 20;
/** A team whose receivers are slow delays no other. */
const AT_ONCE_OF_TEAM_MAX = 4;
const PRUNE_SECONDS = 3600;
