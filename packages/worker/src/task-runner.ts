import { isDomainError } from "@berth/core";
import type { Pulse } from "./pulse.ts";
import { runTask, type TaskEnding } from "./scheduled-task.ts";
import type { ValidationDeps } from "./server-validation.ts";
import { pause, within } from "./wait.ts";

/** Runs the executions of scheduled tasks that wait, on the servers of this control plane. */
export interface TaskRunner {
  start(): void;
  /** Takes no more, lets what runs end within the grace time, and ends the rest as failed. */
  stop(options: { readonly graceSeconds: number }): Promise<void>;
}

interface Running {
  readonly end: (ending: TaskEnding) => void;
  readonly ended: Promise<void>;
}

/**
 * An execution is held by a lease. A worker that goes away does not renew it, and whoever sees that it ran out ends the
 * execution as failed: it is not run again, since it may have taken effect.
 */
export function createTaskRunner(deps: ValidationDeps, pulse: Pulse): TaskRunner {
  const { stores, clock, settings, logger, owner } = deps;
  const running = new Map<string, Running>();
  const [stopping, closed] = [new AbortController(), new AbortController()];
  const loops: Promise<void>[] = [];
  let heldUntilMs = 0;
  let prunedMs = Number.NEGATIVE_INFINITY;

  const claimAll = async () => {
    const ids = (await stores.servers.list()).filter(deps.ownsServer).map(({ id }) => id);
    while (ids.length > 0 && running.size < settings.concurrentTasksMax && !stopping.signal.aborted) {
      const hold = { owner, leaseSeconds: settings.leaseSeconds, at: clock.now() };
      const task = await stores.scheduledTasks.claim(ids, hold);
      if (task === undefined) return;
      run(task);
    }
  };

  const run = (task: Parameters<typeof runTask>[1]) => {
    const aborter = new AbortController();
    if (running.size === 0) heldUntilMs = performance.now() + settings.leaseSeconds * 1000;
    const ended = runTask(deps, task, aborter.signal).finally(() => {
      running.delete(task.execution_uuid);
      pulse.beat();
    });
    running.set(task.execution_uuid, { end: (ending) => aborter.abort(ending), ended });
  };

  const renewAll = async () => {
    const uuids = [...running.keys()];
    if (uuids.length === 0) return;
    const askedMs = performance.now();
    try {
      const held = new Set(await stores.scheduledTasks.renew(owner, uuids, settings.leaseSeconds));
      heldUntilMs = askedMs + settings.leaseSeconds * 1000;
      for (const uuid of uuids) if (!held.has(uuid)) running.get(uuid)?.end("gone");
    } catch (error) {
      // Who cannot renew must stop before another says that it has.
      if (performance.now() > heldUntilMs - settings.renewSeconds * 1000) {
        for (const uuid of uuids) running.get(uuid)?.end("lost");
      }
      throw error;
    }
  };

  const tidy = async () => {
    const count = await stores.scheduledTasks.endAbandoned(clock.now());
    if (count > 0) logger.warn("Scheduled tasks were broken off.", { count });
    if (performance.now() - prunedMs < PRUNE_INTERVAL_MS) return;
    prunedMs = performance.now();
    while ((await stores.scheduledTasks.prune(settings.taskExecutionsKept)) > 0 && !stopping.signal.aborted);
  };

  const repeat = async (work: () => Promise<void>, seconds: number, { signal }: AbortController, isPrompt = false) => {
    const follower = pulse.follow();
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        const report = isDomainError(error, "database.unavailable") ? logger.debug : logger.warn;
        report("Scheduled tasks could not go on.", { error });
        await pause(Math.min(1, seconds), signal);
      }
      if (isPrompt) await follower.next(seconds, signal);
      else await pause(seconds, signal);
    }
  };

  return {
    start() {
      loops.push(
        repeat(claimAll, settings.pollSeconds, stopping, true),
        repeat(renewAll, settings.renewSeconds, closed),
        repeat(tidy, settings.reconcileSeconds, stopping),
      );
    },
    async stop({ graceSeconds }) {
      stopping.abort();
      const all = () => Promise.all([...running.values()].map(({ ended }) => ended));
      await within(graceSeconds, all());
      for (const { end } of running.values()) end("stopped");
      await within(settings.abortSecondsMax, all());
      closed.abort();
      await within(STOP_SECONDS_MAX, Promise.all(loops));
    },
  };
}

const PRUNE_INTERVAL_MS = 600_000;
const STOP_SECONDS_MAX = 5;
