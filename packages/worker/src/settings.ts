/** Intervals and limits of a worker. Tests shorten the product's defaults. */
export interface WorkerSettings {
  /** A worker that does not renew its lease within this time loses the run to the next worker that claims it. */
  readonly leaseSeconds: number;
  readonly renewSeconds: number;
  /** Between two looks at a queue in which something waits or runs. A run that its worker lost is found by these. */
  readonly pollSeconds: number;
  /** Between two looks at empty queues. What is queued wakes workers, so this is how long a lost wake-up costs. */
  readonly idleSeconds: number;
  /** Deployments that one process runs at once, over all servers. Each server has its own limit beside it. */
  readonly concurrentDeploymentsMax: number;
  /** Share of the runs of each kind that one team may have at once. */
  readonly teamSharePercent: number;
  /** Number of times that a deployment may be claimed, since it may itself crash the control plane. */
  readonly attemptsMax: number;
  /** Wait for an aborted step to end before its results are undone. */
  readonly abortSecondsMax: number;
  /** Time in which a switch retries the proxy before it leaves that to the reconciler. */
  readonly routeSecondsMax: number;
  /** Time for a missing proxy to start, including the pull of its image. */
  readonly proxySecondsMax: number;
  readonly undoAttemptsMax: number;
  /** Time for an engine to undo a step. */
  readonly undoSecondsMax: number;
  /** Pause before an interrupted move of an image is repeated, so that a connection can come back. */
  readonly moveRetrySeconds: number;
  /** Time that a step waits for its lost server. */
  readonly outageSecondsMax: number;

  /** Interval between visits of a server when nothing reports a change. */
  readonly reconcileSeconds: number;
  readonly serverLeaseSeconds: number;
  /** Interval at which all sites are sent to the proxy again, in case it lost some. */
  readonly resyncSeconds: number;
  /** Between two looks at whether the proxy serves. */
  readonly proxyLookSeconds: number;
  /** Longest wait before a proxy that could not be told its sites is told them again: it doubles from `restSeconds`. */
  readonly proxyRestSecondsMax: number;
  /** Wait before what failed to be done on a server is tried again: doubles from the first to the last. */
  readonly restSeconds: number;
  readonly restSecondsMax: number;
  /** Time for requests in flight on a replaced release to finish. */
  readonly drainSecondsMax: number;

  /** Interval between checks whether a server answers; three failures of five make it unreachable. */
  readonly probeSeconds: number;
  readonly probeTimeoutSeconds: number;
  /** Time limit for each part of a validation. */
  readonly validationSeconds: number;
  /** Time in which a server that is being deleted is contacted again and again, so that its objects can be removed. */
  readonly giveUpServerSeconds: number;
  /** Days for which ended jobs are stored. */
  readonly jobKeptDays: number;
  /** Days for which events are stored; 0: for ever. */
  readonly eventKeptDays: number;
  /** Days for which ended deliveries of notifications are stored. */
  readonly notificationKeptDays: number;
  /** A worker that does not record the result of a delivery within this time leaves it to the next try. */
  readonly notificationLeaseSeconds: number;
  /** Days for which uuids of removed resources are stored, to recognise their remains on a server. */
  readonly removedResourceKeptDays: number;

  /** Interval between searches for due runs. */
  readonly scheduleSeconds: number;
  /** Period of the schedules' clock. A scheduler that misses three periods is reported. */
  readonly schedulePeriodSeconds: number;
  /** Scheduled tasks that one process runs at once, over all servers. Others wait. */
  readonly concurrentTasksMax: number;
  /** Stored executions of each task. */
  readonly taskExecutionsKept: number;
  readonly taskOutputBytesMax: number;
  /** Backups that one process runs at once, over all servers, and as many restores. Others wait. */
  readonly concurrentBackupsMax: number;
  /** Stored executions of each backup, besides those that have a copy. */
  readonly backupExecutionsKept: number;
  readonly taskFlushMs: number;

  /** Between two rounds of checks of the certificates that are due. */
  readonly certificateSeconds: number;
  /** Before the first check of a new URL, while its certificate is being issued, and between the first checks of a faulty one. */
  readonly certificateFirstSeconds: number;
  /** How long a new URL may have no certificate. */
  readonly certificateGraceSeconds: number;
  /** Between two checks of one that stays faulty. */
  readonly certificateRetrySecondsMax: number;
  /** Between two checks of a good one. */
  readonly certificateKeptSeconds: number;

  /** Interval between usage samples. */
  readonly metricsSeconds: number;

  /** How long lines for a log drain are gathered. */
  readonly logDrainFlushMs: number;
  /** Wait before a failed delivery is tried again: doubles from the first to the last. */
  readonly logDrainRetrySeconds: number;
  readonly logDrainRetrySecondsMax: number;

  readonly logFlushMs: number;
  readonly logBatchLines: number;
  readonly logLinesMax: number;
  readonly logBytesMax: number;
}

export const DEFAULT_SETTINGS: WorkerSettings = {
  // Another worker claims a killed worker's deployment within lease + poll seconds: less than 15.
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
  notificationKeptDays: 30,
  notificationLeaseSeconds: 120,
  removedResourceKeptDays: 730, // A server may be away for months, and its cleanup may wait for a full disk.

  scheduleSeconds: 15,
  schedulePeriodSeconds: 60,
  concurrentTasksMax: 16,
  taskExecutionsKept: 100,
  taskOutputBytesMax: 128 * 1024,
  concurrentBackupsMax: 4,
  backupExecutionsKept: 100,
  taskFlushMs: 500,

  certificateSeconds: 30,
  certificateFirstSeconds: 60,
  certificateGraceSeconds: 180,
  certificateRetrySecondsMax: 900,
  certificateKeptSeconds: 6 * 3600,

  metricsSeconds: 60,

  logDrainFlushMs: 1000,
  logDrainRetrySeconds: 1,
  logDrainRetrySecondsMax: 60,

  logFlushMs: 100,
  logBatchLines: 200,
  logLinesMax: 100_000,
  logBytesMax: 20 * 1024 * 1024,
};

/** Docker's own default for `docker stop`. */
export const STOP_GRACE_SECONDS = 10;

/** Of Docker on a server, whose packages may come slowly. */
export const INSTALLATION_SECONDS_MAX = 3600;
