import { createBackupRunner } from "./backup/runner.ts";
import type { DeploymentDeps } from "./deploy/claim.ts";
import { createJobs } from "./job.ts";
import { createSampler } from "./metric.ts";
import type { WorkerDeps } from "./ports.ts";
import { createQueue } from "./queue.ts";
import { createReachabilityWatch } from "./reachability.ts";
import { createReconciler } from "./reconcile.ts";
import { SCHEDULED } from "./scheduled.ts";
import { createScheduler } from "./scheduler.ts";
import { adapterCache } from "./server-adapters.ts";
import { createServerLeases } from "./server-lease.ts";
import { DEFAULT_SETTINGS, type WorkerSettings } from "./settings.ts";
import { withSharedReadings } from "./shared-readings.ts";
import { createTaskRunner } from "./task-runner.ts";
import { pause } from "./wait.ts";
import { wakeSignal } from "./wake-signal.ts";

export interface Worker {
  /** Begins to claim deployments and to look after the servers. Answers at once. */
  start(): void;
  /**
   * Claims nothing more, lets running steps end within the grace time and leaves what is not finished to the next
   * worker, which continues with it at once. Releases are left as they are.
   */
  stop(options: { readonly graceSeconds: number }): Promise<void>;
  /** Claims no deployment until `resume`. What runs continues, and servers are looked after. */
  pause(): void;
  resume(): void;
}

export interface WorkerOptions extends WorkerDeps {
  readonly settings?: Partial<WorkerSettings> | undefined;
  readonly steps?: DeploymentDeps["steps"];
}

/** Runs deployments and keeps servers as they are recorded. Any number of workers may share one database. */
export function worker(given: WorkerOptions): Worker {
  const settings: WorkerSettings = { ...DEFAULT_SETTINGS, ...given.settings };
  const beat = wakeSignal();
  const options = { ...given, stores: withSharedReadings(given.stores, beat, settings.pollSeconds / 2) };
  const adapters = adapterCache(options);
  const adaptersOf = adapters.of;
  const serverLeases = createServerLeases(options.stores.leases, options.owner, settings);
  const reconciler = createReconciler(
    { ...options, settings, serverLeases, adaptersOf, forgetAdapters: adapters.forget },
    beat,
  );
  const queue = createQueue(
    { ...options, settings, adaptersOf, onHealthy: (uuid) => reconciler.markHealthy(uuid) },
    beat,
  );
  const jobs = createJobs({ ...options, settings, adaptersOf }, beat);
  const backups =
    options.backups && createBackupRunner({ ...options, settings, adaptersOf, backups: options.backups }, beat);
  const tasks = createTaskRunner({ ...options, settings, adaptersOf }, beat);
  const scheduler = createScheduler({ ...options, settings, kinds: SCHEDULED });
  const reachability = createReachabilityWatch({ ...given, settings, serverLeases });
  const sampler = createSampler({ ...options, settings, adaptersOf });
  const stopping = new AbortController();
  let listening: Promise<void> = Promise.resolve();

  const listen = async () => {
    while (!stopping.signal.aborted) {
      try {
        await options.stores.deployments.wakeUp(stopping.signal, WAKE_UP_SECONDS_MAX);
        beat.beat();
      } catch (error) {
        options.logger.debug("Wake-ups cannot be heard.", { error });
        await pause(1, stopping.signal);
      }
    }
  };

  return {
    start() {
      listening = listen();
      queue.start();
      reconciler.start();
      jobs.start();
      scheduler.start();
      tasks.start();
      backups?.start();
      reachability.start();
      sampler.start();
    },
    async stop({ graceSeconds }) {
      const scheduled = scheduler.stop();
      await Promise.all([queue.stop({ graceSeconds }), tasks.stop({ graceSeconds }), backups?.stop({ graceSeconds })]);
      stopping.abort();
      const loops = [reconciler.stop(), jobs.stop(), reachability.stop(), sampler.stop()];
      await Promise.all([listening, scheduled, ...loops]);
    },
    pause: () => queue.pause(),
    resume: () => queue.resume(),
  };
}

/** Loops look by themselves now and then; this only bounds how long one call waits. */
const WAKE_UP_SECONDS_MAX = 60;
