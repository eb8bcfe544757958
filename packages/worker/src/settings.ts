/** How patient a worker is. The defaults are those of the product; tests shorten them. */
export interface WorkerSettings {
  /** A worker that does not renew within this time has lost its deployment to the next worker that claims it. */
  readonly leaseSeconds: number;
  readonly renewSeconds: number;
  /** Between two looks at a queue in which something waits or runs. A run that its worker lost is found by these. */
  readonly pollSeconds: number;
  /** Between two looks at empty queues. What is queued wakes workers, so this is how long a lost wake-up costs. */
  readonly idleSeconds: number;
  /** Deployments that one process runs at once, over all servers. Each server has its own limit beside it. */
  readonly concurrentDeploymentsMax: number;
  /** How much of what runs at once, of each kind, one team may have. */
  readonly teamSharePercent: number;
  /** How often a deployment may be taken over. One that brings the control plane down must not do so for ever. */
  readonly attemptsMax: number;
  /** How long a step that was told to stop is waited for before what it made is undone. */
  readonly abortSecondsMax: number;
  /** How long a switch tries to reach the proxy before it leaves that to the reconciler. */
  readonly routeSecondsMax: number;
  /** How long one that is not there yet may take to start, its image to be pulled included. */
  readonly proxySecondsMax: number;
  readonly undoAttemptsMax: number;
  /** How long an engine is waited for that is to remove what a step has made. */
  readonly undoSecondsMax: number;
  /** Before an image whose move to another server broke off is moved again: a connection takes a while to come back. */
  readonly moveRetrySeconds: number;
  /** How long a step that lost its server waits for it. */
  readonly outageSecondsMax: number;

  /** Between two looks at a server, when nothing reports a change. */
  readonly reconcileSeconds: number;
  readonly serverLeaseSeconds: number;
  /** After this time the proxy is told everything again, whatever it may have forgotten. */
  readonly resyncSeconds: number;
  /** Between two looks at whether the proxy serves. */
  readonly proxyLookSeconds: number;
  /** Longest wait before a proxy that could not be told its sites is told them again: it doubles from `restSeconds`. */
  readonly proxyRestSecondsMax: number;
  /** Wait before what failed to be done on a server is tried again: doubles from the first to the last. */
  readonly restSeconds: number;
  readonly restSecondsMax: number;
  /** How long requests in flight on a replaced release are waited for. */
  readonly drainSecondsMax: number;

  /** Between two looks at whether a server answers; three of five that fail make it unreachable. */
  readonly probeSeconds: number;
  readonly probeTimeoutSeconds: number;
  /** How long a part of a validation may take to answer. */
  readonly validationSeconds: number;
  /** How long a server that is being deleted is tried to be reached, so that nothing stays behind on it. */
  readonly giveUpServerSeconds: number;
  /** How long jobs that have ended can be read. */
  readonly jobKeptDays: number;
  /** How long events can be read; 0: for ever. */
  readonly eventKeptDays: number;
  /** How long what is found on a server of a resource that was removed is known to be of this instance. */
  readonly removedResourceKeptDays: number;

  /** Between two looks at what is due. */
  readonly scheduleSeconds: number;
  /** The grain of the clock that schedules go by. A scheduler that stands still for three of them is reported. */
  readonly schedulePeriodSeconds: number;
  /** Scheduled tasks that one process runs at once, over all servers. The others wait. */
  readonly concurrentTasksMax: number;
  /** Executions of each task that can be read. */
  readonly taskExecutionsKept: number;
  readonly taskOutputBytesMax: number;
  /** Backups that one process makes at once, over all servers, and restores as many. The others wait. */
  readonly concurrentBackupsMax: number;
  /** Executions of each backup that can be read, beside those that have a copy. */
  readonly backupExecutionsKept: number;
  readonly taskFlushMs: number;

  /** Between two samples of what resources use. */
  readonly metricsSeconds: number;

  readonly logFlushMs: number;
  readonly logBatchLines: number;
  readonly logLinesMax: number;
  readonly logBytesMax: number;
}

export const DEFAULT_SETTINGS: WorkerSettings = {
  // A killed worker's deployment is claimed within lease + poll seconds: less than 15.
  leaseSeconds: 10,
  renewSeconds: 3,
  pollSeconds: 2,
  idleSeconds: 15,
  concurrentDeploymentsMax: 16,
  teamSharePercent: 75,
  attemptsMax: 10,
  abortSecondsMax: 15,
  routeSecondsMax: 30,
  proxySecondsMax: 600,
  undoAttemptsMax: 3,
  undoSecondsMax: 120,
  moveRetrySeconds: 3,
  outageSecondsMax: 30,

  reconcileSeconds: 3,
  serverLeaseSeconds: 8,
  resyncSeconds: 60,
  proxyLookSeconds: 5,
  proxyRestSecondsMax: 60,
  restSeconds: 2,
  restSecondsMax: 300,
  drainSecondsMax: 30,

  probeSeconds: 15,
  probeTimeoutSeconds: 10,
  validationSeconds: 40,
  giveUpServerSeconds: 60,
  jobKeptDays: 30,
  eventKeptDays: 90,
  removedResourceKeptDays: 730, // A server may be away for months, and its cleanup wait for a full disk.

  scheduleSeconds: 15,
  schedulePeriodSeconds: 60,
  concurrentTasksMax: 16,
  taskExecutionsKept: 100,
  taskOutputBytesMax: 128 * 1024,
  concurrentBackupsMax: 4,
  backupExecutionsKept: 100,
  taskFlushMs: 500,

  metricsSeconds: 60,

  logFlushMs: 100,
  logBatchLines: 200,
  logLinesMax: 100_000,
  logBytesMax: 20 * 1024 * 1024,
};

/** Docker's own default for `docker stop`. */
export const STOP_GRACE_SECONDS = 10;
