import { isDatabaseUnavailable } from "@berth/core";
import { certificatesTold } from "@berth/core/database";
import type { ServerRecord } from "@berth/core/ports";
import { ENGINES } from "@berth/core/server";
import { cleanServer, nextTimes, requestDueCleanups } from "./cleanup.ts";
import { ENGINE_JOB_SECONDS_MAX, installEngineOn, LEASE_SECONDS } from "./engine-installation.ts";
import { removeOutOfReach } from "./removal.ts";
import { serverJobs } from "./server-jobs.ts";
import { carryOutProxyJob, PROXY_JOBS } from "./server-proxy.ts";
import { type ValidationDeps, validateServer } from "./server-validation.ts";
import { pause, within } from "./wait.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Brings forward the background work that belongs to no deployment and to no engine's look. */
export interface Jobs {
  start(): void;
  stop(): Promise<void>;
}

/**
 * Validations are claimed, a few at once. Deletions are seen from what is marked for removal, so nothing is forgotten when
 * a worker goes away in the middle: the next one sees the same.
 */
export function createJobs(deps: ValidationDeps, wakeSignal: WakeSignal): Jobs {
  const { stores, settings, logger, owner } = deps;
  const stopping = new AbortController();
  const loops: Promise<void>[] = [];
  let prunedMs = Number.NEGATIVE_INFINITY;
  const cleanupTimes = nextTimes();
  const sideBySide = () => serverJobs(deps, stopping.signal, () => wakeSignal.beat());
  const [installations, cleanups, proxyChanges] = [sideBySide(), sideBySide(), sideBySide()];

  const validateAll = async (servers: readonly ServerRecord[]) => {
    if (!(await stores.queues.busy()).has("server.validate")) return;
    // Another control plane's own machine is validated there.
    const ids = servers
      .filter((server) => deps.ownsServer(server) || !ENGINES[server.engine].isOwnMachineOnly)
      .map(({ id }) => id);
    const request = { owner, leaseSeconds: settings.validationSeconds + settings.leaseSeconds };
    const validateSome = async () => {
      while (ids.length > 0 && !stopping.signal.aborted) {
        const claimed = await stores.jobs.claim("server.validate", ids, request);
        if (claimed === undefined) return;
        await validateServer(deps, claimed.lease, claimed.job.subject_id);
      }
    };
    await Promise.all(Array.from({ length: VALIDATIONS_AT_ONCE }, validateSome));
  };

  const installEngines = async (servers: readonly ServerRecord[]) => {
    await installations.claimAll({
      type: "server.install_engine",
      serverIds: servers.filter((server) => deps.machineOf(server) !== undefined).map(({ id }) => id),
      leaseSeconds: LEASE_SECONDS,
      secondsMax: ENGINE_JOB_SECONDS_MAX,
      work: (lease, serverId) => installEngineOn(deps, lease, serverId, stopping.signal),
    });
  };

  const cleanUpAll = async (servers: readonly ServerRecord[]) => {
    const own = servers.filter((server) => deps.ownsServer(server));
    await requestDueCleanups(deps, own, cleanupTimes);
    await cleanups.claimAll({
      type: "server.cleanup",
      serverIds: own.map(({ id }) => id),
      leaseSeconds: CLEANUP_SECONDS_MAX,
      work: (lease, serverId) => cleanServer(deps, lease, serverId),
    });
  };

  const changeProxies = async (servers: readonly ServerRecord[]) => {
    const serverIds = servers.filter((server) => deps.ownsServer(server)).map(({ id }) => id);
    for (const type of PROXY_JOBS) {
      await proxyChanges.claimAll({
        type,
        serverIds,
        leaseSeconds: settings.proxySecondsMax,
        work: (lease, serverId) => carryOutProxyJob(deps, lease, type, serverId),
      });
    }
  };

  /** Objects on reachable servers are removed by their reconciler. */
  const removeFrom = async (servers: readonly ServerRecord[]) => {
    const marked = new Set((await stores.resources.listRemoving()).map(({ server_id }) => server_id));
    const others = servers.filter((server) => marked.has(server.id) && !deps.ownsServer(server));
    if (others.length === 0 || !(await stores.leases.acquire(LEASE, owner, settings.serverLeaseSeconds))) return;
    for (const server of others) await removeOutOfReach(deps, server, stopping.signal);
  };

  const deleteServers = async () => {
    for (const server of await stores.servers.list()) {
      if (server.removing_at === null) continue;
      await stores.jobs.begin({ type: "server.delete", subject_id: server.id });
      if (await stores.servers.deleteIfEmpty(server.id)) logger.info("Server deleted.", { server: server.name });
    }
  };

  const prune = async () => {
    if (performance.now() - prunedMs < PRUNE_INTERVAL_MS) return;
    prunedMs = performance.now();
    const told = await stores.databases.emitExpiring(certificatesTold(deps.clock.now()));
    if (told > 0) logger.warn("Certificates of databases end soon: start these databases again.", { count: told });
    const count = await stores.jobs.prune(settings.jobKeptDays);
    if (count > 0) logger.debug("Old jobs forgotten.", { count });
    const removed = await stores.resources.pruneRemoved(settings.removedResourceKeptDays);
    if (removed > 0) logger.debug("Resources that were removed long ago forgotten.", { count: removed });
  };

  /** Each by itself, so that what takes long holds up nothing else. */
  const repeat = async (what: string, work: () => Promise<void>) => {
    const waiter = wakeSignal.follow();
    while (!stopping.signal.aborted) {
      try {
        await work();
      } catch (error) {
        const report = isDatabaseUnavailable(error) ? logger.debug : logger.warn;
        report(`${what} failed.`, { error });
        await pause(1, stopping.signal);
      }
      await pause(LOOK_SECONDS_MIN, stopping.signal);
      await waiter.next(settings.reconcileSeconds, stopping.signal);
    }
  };

  return {
    start() {
      loops.push(
        repeat("Validations", async () => validateAll(await stores.servers.list())),
        repeat("Installations", async () => installEngines(await stores.servers.list())),
        repeat("Cleanups", async () => cleanUpAll(await stores.servers.list())),
        repeat("Changes of proxies", async () => changeProxies(await stores.servers.list())),
        repeat("Removals", async () => removeFrom(await stores.servers.list())),
        repeat("Deletions of servers", deleteServers),
        repeat("The tidying of jobs", prune),
      );
    },
    async stop() {
      stopping.abort();
      const begun = [installations, cleanups, proxyChanges].map((jobs) => jobs.ended());
      // Unfinished jobs are left to the next worker that claims them.
      await within(STOP_SECONDS_MAX, Promise.all([...loops, ...begun]));
    },
  };
}

const VALIDATIONS_AT_ONCE = 4;
/** After this another worker takes it up, which sees what is left. */
const CLEANUP_SECONDS_MAX = 900;
const LEASE = "removals";
const PRUNE_INTERVAL_MS = 3_600_000;
/** Changes that come together are looked at together. */
const LOOK_SECONDS_MIN = 0.05;
const STOP_SECONDS_MAX = 5;
