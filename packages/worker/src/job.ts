import { reportedCertificateEnd } from "@berth/core/database";
import type { JobLease, JobRecord } from "@berth/core/ports";
import { ENGINES, type JobType } from "@berth/core/server";
import { cleanServer, nextTimes, requestDueCleanups } from "./cleanup.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import { createLeaseRunner, type LeasedRunKind, type LeaseRunner } from "./lease-runner.ts";
import { createLoops, type RepeatedWork } from "./loop.ts";
import { removeOutOfReach } from "./removal.ts";
import { changeProxy, PROXY_JOBS } from "./server-proxy.ts";
import type { ValidationDeps } from "./server-validation.ts";
import { INSTALLATION_SECONDS_MAX } from "./settings.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Runs background work other than deployments and reconciling. */
export interface Jobs {
  start(): void;
  stop(): Promise<void>;
}

interface ClaimedJob {
  readonly lease: JobLease;
  readonly job: JobRecord;
}

/** Jobs about servers. Jobs of one server run one after the other within a kind. */
interface ServerJobKind extends Pick<LeasedRunKind<ClaimedJob>, "title" | "reaches" | "prepare"> {
  readonly types: readonly JobType[];
  readonly concurrentMax?: number;
  /** After this time the job is given up, and the next worker that claims it continues. */
  readonly secondsMax: number;
  /**
   * Whether the signal ends the work. Engines and proxies cannot be interrupted, so their work is only no longer
   * awaited.
   */
  readonly isInterruptible?: boolean;
  work(claimed: ClaimedJob, signal: AbortSignal): Promise<void>;
}

/**
 * Other jobs are claimed under a lease. Deletions are found by `removing_at` instead, so that none is lost when a
 * worker stops: the next one finds the same rows.
 */
export function createJobs(deps: ValidationDeps, wakeSignal: WakeSignal): Jobs {
  const runners = serverJobKinds(deps).map((kind) => ({
    ...createServerJobRunner(deps, wakeSignal, kind),
    graceSeconds: kind.isInterruptible ? 0 : GRACE_SECONDS,
  }));
  const { settings, logger } = deps;
  /** Removals are asked for with a wake-up. Only those that are under way need looks of their own. */
  const removal = (title: string, work: (signal: AbortSignal) => Promise<boolean>): RepeatedWork => {
    let isUnderWay = false;
    return {
      title,
      async work(signal) {
        isUnderWay = await work(signal);
      },
      seconds: () => (isUnderWay ? settings.reconcileSeconds : settings.idleSeconds),
      wake: { signal: wakeSignal, topics: ["removal", "server"] },
      gatherSeconds: () => GATHER_SECONDS,
    };
  };
  const loops = createLoops(logger, [
    removal("The removal of resources on servers out of reach", (signal) => removeAll(deps, signal)),
    removal("The deletion of servers", () => deleteServers(deps)),
    { title: "The tidying of jobs", work: () => prune(deps), seconds: () => PRUNE_SECONDS },
  ]);
  return {
    start() {
      for (const runner of runners) runner.start();
      loops.start();
    },
    async stop() {
      await Promise.all([loops.stop(), ...runners.map(({ stop, graceSeconds }) => stop({ graceSeconds }))]);
    },
  };
}

function serverJobKinds(deps: ValidationDeps): readonly ServerJobKind[] {
  const { settings } = deps;
  const cleanupTimes = nextTimes();
  return [
    {
      title: "Validations",
      types: ["server.validate"],
      // Only another control plane can validate its own machine.
      reaches: (server) => deps.ownsServer(server) || !ENGINES[server.engine].isOwnMachineOnly,
      concurrentMax: VALIDATIONS_AT_ONCE,
      secondsMax: settings.validationSeconds + settings.leaseSeconds,
      // Loaded with the first validation, as the installation of Docker with the first one.
      work: async ({ lease, job }) =>
        (await import("./server-validation.ts")).validateServer(deps, lease, job.subject_id),
    },
    {
      title: "Installations of Docker",
      types: ["server.install_engine"],
      reaches: (server) => deps.machineOf(server) !== undefined,
      // With the validation that follows.
      secondsMax: INSTALLATION_SECONDS_MAX + 600,
      isInterruptible: true,
      work: async ({ lease, job }, signal) =>
        (await import("./engine-installation.ts")).installEngineOn(deps, lease, job.subject_id, signal),
    },
    {
      title: "Cleanups",
      types: ["server.cleanup"],
      prepare: (servers) => requestDueCleanups(deps, servers, cleanupTimes),
      secondsMax: CLEANUP_SECONDS_MAX,
      work: ({ lease, job }) => cleanServer(deps, lease, job.subject_id),
    },
    {
      title: "Changes of proxies",
      types: PROXY_JOBS,
      secondsMax: settings.proxySecondsMax,
      work: ({ lease, job }) => changeProxy(deps, lease, job),
    },
  ];
}

function createServerJobRunner(deps: ValidationDeps, wakeSignal: WakeSignal, kind: ServerJobKind): LeaseRunner {
  const { jobs } = deps.stores;
  const { types, concurrentMax = AT_ONCE, secondsMax, isInterruptible = false, work, ...own } = kind;
  return createLeaseRunner<ClaimedJob>(deps, wakeSignal, {
    ...own,
    queues: types,
    topic: "job",
    concurrentMax,
    uuidOf: ({ job }) => job.uuid,
    serverIdOf: ({ job }) => job.subject_id,
    claim: (serverIds, request) => jobs.claim(types, serverIds, request),
    renew: (...asked) => jobs.renew(...asked),
    unrenewed: "lost",
    async run(claimed, keeper) {
      keeper.limit(secondsMax);
      const done = work(claimed, keeper.signal);
      await (isInterruptible ? done : untilEnded(keeper, done));
    },
  });
}

/** Waits for the work or for the end of the lease: work that continues afterwards is not awaited. */
async function untilEnded({ signal }: LeaseKeeper, work: Promise<void>): Promise<void> {
  const listening = new AbortController();
  const ended = new Promise<void>((resolve) =>
    signal.addEventListener("abort", () => resolve(), { signal: listening.signal }),
  );
  work.catch(() => undefined);
  await Promise.race([work, ended]).finally(() => listening.abort());
}

/**
 * Objects on reachable servers are removed by their reconciler.
 *
 * @returns Whether some are left.
 */
async function removeAll(deps: ValidationDeps, signal: AbortSignal): Promise<boolean> {
  const { stores, owner, settings } = deps;
  const unreached = (await stores.servers.list()).filter((server) => !deps.ownsServer(server));
  if (unreached.length === 0) return false;
  const marked = new Set((await stores.resources.listRemoving()).map(({ server_id }) => server_id));
  const others = unreached.filter(({ id }) => marked.has(id));
  if (others.length === 0) return false;
  if (!(await stores.leases.acquire(LEASE, owner, settings.serverLeaseSeconds))) return true;
  for (const server of others) await removeOutOfReach(deps, server, signal);
  return true;
}

/** @returns Whether some wait for their last resources to go. */
async function deleteServers({ stores, logger }: ValidationDeps): Promise<boolean> {
  const removing = (await stores.servers.list()).filter(({ removing_at }) => removing_at !== null);
  for (const server of removing) {
    await stores.jobs.begin({ type: "server.delete", subject_id: server.id });
    if (await stores.servers.deleteIfEmpty(server.id)) logger.info("Server deleted.", { server: server.name });
  }
  return removing.length > 0;
}

async function prune({ stores, clock, logger, settings }: ValidationDeps): Promise<void> {
  const expiring = await stores.databases.emitExpiring(reportedCertificateEnd(clock.now()));
  if (expiring > 0)
    logger.warn("Certificates of databases end soon. Start these databases again.", { count: expiring });
  await stores.resources.pruneChanges(CHANGES_KEPT_SECONDS);
  const count = await stores.jobs.prune(settings.jobKeptDays);
  if (count > 0) logger.debug("Old jobs forgotten.", { count });
  await pruneEvents(stores, settings.eventKeptDays);
  const removed = await stores.resources.pruneRemoved(settings.removedResourceKeptDays);
  if (removed > 0) logger.debug("Records of resources that were removed long ago deleted.", { count: removed });
}

/** In batches, to avoid long transactions. */
async function pruneEvents({ events }: ValidationDeps["stores"], keptDays: number): Promise<void> {
  if (keptDays === 0) return;
  while ((await events.prune(keptDays)) > 0);
}

const VALIDATIONS_AT_ONCE = 4;
const AT_ONCE = 8;
const CLEANUP_SECONDS_MAX = 900;
const LEASE = "removals";
const PRUNE_SECONDS = 3600;
/** Longer than workers rely on changes, see `FOLLOWED_MS_MAX`. */
const CHANGES_KEPT_SECONDS = 3600;
/** Changes within this time are handled together. */
const GATHER_SECONDS = 0.05;
/** After this time, jobs are left to the next worker that claims them. */
const GRACE_SECONDS = 5;
