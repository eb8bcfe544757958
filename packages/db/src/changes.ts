import { WAKE_TOPICS, type WakeTopic } from "@berth/core/ports";
import type { Notifier } from "./notifier.ts";

/** Payload: the id of a deployment whose status, steps or log changed. */
export const DEPLOYMENT_CHANNEL = "berth_deployment";
/** Payload: the uuid of a job, backup or restore that changed. */
export const RUN_CHANNEL = "berth_run";
/** Payload: the id of a team that an event was written for. */
export const EVENT_CHANNEL = "berth_event";
/** No payload: samples of resources' usage were added. */
export const METRIC_CHANNEL = "berth_metric";
/** Payload: the topics that workers are woken for, with spaces between. Without one, as of older replicas: all. */
export const QUEUE_CHANNEL = "berth_queue";

const TOPICS_MAX = 10_000;

/**
 * Counts notifications (`NOTIFY`), so that none is missed between reading a state and waiting for the next one: take
 * `clock` before the read, and `wait` resolves at once if the topic was notified since.
 */
export interface Changes {
  /** Grows with each notification. */
  clock(): number;
  /** Resolves when the topic is notified after `since`, on `signal`, or after `timeoutMs`. */
  wait(topic: string, since: number, signal: AbortSignal, timeoutMs: number): Promise<void>;
  /** The topics that workers were woken for after `since`. */
  wakes(since: number): readonly WakeTopic[];
}

export const QUEUE_TOPIC = "queue";
export const METRIC_TOPIC = "metric";
const wakeTopic = (topic: WakeTopic): string => `wake ${topic}`;
export const deploymentTopic = (id: number): string => `deployment ${id}`;
export const eventTopic = (teamId: number): string => `event ${teamId}`;
export const runTopic = (uuid: string): string => `run ${uuid}`;

export async function watchChanges(notifier: Notifier): Promise<Changes> {
  let clock = 0;
  // Topics that are not in the map changed at `floor` or before, so dropping one can only cause a needless wake-up.
  let floor = 0;
  const versions = new Map<string, number>();
  const waiters = new Map<string, Set<() => void>>();

  function touch(topic: string): void {
    clock += 1;
    versions.delete(topic); // keeps the map ordered by age
    versions.set(topic, clock);
    if (versions.size > TOPICS_MAX) forgetOldest();
    for (const wake of [...(waiters.get(topic) ?? [])]) wake();
  }
  function forgetOldest(): void {
    const [oldest] = versions;
    if (oldest === undefined) return;
    versions.delete(oldest[0]);
    floor = Math.max(floor, oldest[1]);
  }
  function touchAll(): void {
    clock += 1;
    floor = clock;
    versions.clear();
    for (const wakes of [...waiters.values()]) for (const wake of [...wakes]) wake();
  }
  function wake(payload: string): void {
    const sent = payload.split(" ");
    const named = WAKE_TOPICS.filter((topic) => sent.includes(topic));
    for (const topic of named.length === 0 ? WAKE_TOPICS : named) touch(wakeTopic(topic));
    touch(QUEUE_TOPIC);
  }
  const version = (topic: string) => versions.get(topic) ?? floor;

  await notifier.listen(DEPLOYMENT_CHANNEL, (id) =>
    id === undefined ? touchAll() : touch(deploymentTopic(Number(id))),
  );
  await notifier.listen(RUN_CHANNEL, (uuid) => (uuid === undefined ? touchAll() : touch(runTopic(uuid))));
  await notifier.listen(EVENT_CHANNEL, (id) => (id === undefined ? touchAll() : touch(eventTopic(Number(id)))));
  await notifier.listen(METRIC_CHANNEL, (payload) => (payload === undefined ? touchAll() : touch(METRIC_TOPIC)));
  await notifier.listen(QUEUE_CHANNEL, (payload) => (payload === undefined ? touchAll() : wake(payload)));

  return {
    clock: () => clock,
    wakes: (since) => WAKE_TOPICS.filter((topic) => version(wakeTopic(topic)) > since),
    wait(topic, since, signal, timeoutMs) {
      if (signal.aborted || version(topic) > since) return Promise.resolve();
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", wake);
          const waiting = waiters.get(topic);
          waiting?.delete(wake);
          if (waiting?.size === 0) waiters.delete(topic);
          resolve();
        };
        const timer = setTimeout(wake, timeoutMs);
        signal.addEventListener("abort", wake, { once: true });
        const waiting = waiters.get(topic);
        if (waiting === undefined) waiters.set(topic, new Set([wake]));
        else waiting.add(wake);
      });
    },
  };
}
