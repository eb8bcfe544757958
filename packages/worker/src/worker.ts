import { createBackupRunner } from "./backup/runner.ts";
import { createCertificateWatch } from "./certificate-watch.ts";
import type { DeploymentDeps } from "./deploy/deployment.ts";
import { createDeploymentRunner } from "./deploy/runner.ts";
import { createJobs } from "./job.ts";
import { createLogDrains } from "./log-drain.ts";
import { createLoops } from "./loop.ts";
import { createSampler } from "./metric.ts";
import { createNotifier } from "./notifier.ts";
import type { WorkerDeps } from "./ports.ts";
import { createReachabilityWatch } from "./reachability.ts";
import { createReconciler } from "./reconcile.ts";
import { SCHEDULED } from "./scheduled.ts";
import { createScheduler } from "./scheduler.ts";
import { adapterCache } from "./server-adapters.ts";
import { createServerLeases } from "./server-lease.ts";
import { DEFAULT_SETTINGS, type WorkerSettings } from "./settings.ts";
import { withSharedReadings } from "./shared-readings.ts";
import { createTaskRunner } from "./task-runner.ts";
import { wakeSignal } from "./wake-signal.ts";

export interface Worker {
  /** Begins to claim deployments and to reconcile the servers. Returns at once. */
  start(): void;
  /**
   * Claims nothing more, waits for running steps within the grace time, and hands unfinished runs over to the next
   * worker, which continues at once. Releases stay as they are.
   */
  stop(options: { readonly graceSeconds: number }): Promise<void>;
  /** Claims no deployment until `resume`. Running ones continue, and servers are reconciled. */
  pause(): void;
  resume(): void;
}

export interface WorkerOptions extends WorkerDeps {
  readonly settings?: Partial<WorkerSettings> | undefined;
  readonly steps?: DeploymentDeps["steps"];
}

/** Runs deployments and reconciles servers. Any number of workers may share one database. */
export function worker(given: WorkerOptions): Worker {
  const settings: WorkerSettings = { ...DEFAULT_SETTINGS, ...given.settings };
  const wake = wakeSignal();
  const options = {
    ...given,
    stores: withSharedReadings(given.stores, wake, {
      servers: settings.idleSeconds,
      queues: settings.pollSeconds / 2,
      emptyQueues: settings.idleSeconds / 2,
    }),
  };
  const adapters = adapterCache(options);
  const adaptersOf = adapters.of;
  const serverLeases = createServerLeases(options.stores.leases, options.owner, settings);
  const reconciler = createReconciler(
    { ...options, settings, serverLeases, adaptersOf, forgetAdapters: adapters.forget },
    wake,
  );
  const deployments = createDeploymentRunner(
    { ...options, settings, adaptersOf, onHealthy: (uuid) => reconciler.markHealthy(uuid) },
    wake,
  );
  const jobs = createJobs({ ...options, settings, adaptersOf }, wake);
  const backups =
    options.backups && createBackupRunner({ ...options, settings, adaptersOf, backups: options.backups }, wake);
  const tasks = createTaskRunner({ ...options, settings, adaptersOf }, wake);
  const { notifications } = options;
  const notifier = notifications && createNotifier({ ...options, settings, notifications }, wake);
  const { sendLogs } = options;
  const logDrains =
    sendLogs && createLogDrains({ ...options, settings, serverLeases, adaptersOf, send: sendLogs }, wake);
  const scheduler = createScheduler({ ...options, settings, kinds: SCHEDULED });
  const reachability = createReachabilityWatch({ ...options, settings, serverLeases });
  const sampler = createSampler({ ...options, settings, serverLeases, adaptersOf });
  const { sites } = options;
  const certificates = sites && createCertificateWatch({ ...options, settings, serverLeases, adaptersOf, sites });
  const listener = createLoops(options.logger, [
    {
      title: "Listening for changes in the database",
      async work(signal) {
        wake.notify(...(await options.stores.deployments.wakeUp(signal, WAKE_UP_SECONDS_MAX)));
      },
      seconds: () => 0,
    },
  ]);
  const watchers = [reconciler, jobs, reachability, sampler, ...(certificates ? [certificates] : [])];

  return {
    start() {
      for (const part of [listener, deployments, ...watchers, scheduler, tasks, backups, notifier, logDrains])
        part?.start();
    },
    async stop({ graceSeconds }) {
      const scheduled = scheduler.stop();
      await Promise.all([deployments, tasks, backups].map((runner) => runner?.stop({ graceSeconds })));
      // Before the leases of the servers are released, or the next control plane would deliver the same lines.
      await logDrains?.stop();
      await Promise.all([scheduled, notifier?.stop(), ...[listener, ...watchers].map((part) => part.stop())]);
    },
    pause: () => deployments.pause(),
    resume: () => deployments.resume(),
  };
}

/** Loops also poll; this only bounds the wait of one call. */
const WAKE_UP_SECONDS_MAX = 60;
