import { isServerAway } from "@berth/core";
import type { Observed, Operation } from "@berth/core/deploy";
import type { ServerRecord } from "@berth/core/ports";
import { dedupedWarnings } from "./deduped-warnings.ts";
import { createForwards } from "./forward.ts";
import { createLoops } from "./loop.ts";
import { createObserver, type Snapshot } from "./observe.ts";
import { createOperationRunner } from "./operation-runner.ts";
import type { WorkerDeps } from "./ports.ts";
import { ProxySync } from "./proxy-sync.ts";
import { createReleaseHistory } from "./release-history.ts";
import { removeOutOfReach } from "./removal.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import { ServerVisits } from "./server-visits.ts";
import type { WorkerSettings } from "./settings.ts";
import { within } from "./wait.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Reconciles every server with its record: starts and removes releases and updates the proxy. */
export interface Reconciler {
  start(): void;
  stop(): Promise<void>;
  markHealthy(deploymentUuid: string): void;
}

export interface ReconcilerDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly serverLeases: ServerLeases;
  readonly adaptersOf: (server: ServerRecord) => ServerAdapters;
  /** Drops the adapters of a server that was deleted or is out of reach. */
  readonly forgetAdapters: (serverId: number) => void;
}

/** A snapshot, and the proxy's sites as they were before it. */
interface PlannedSnapshot {
  readonly snapshot: Snapshot;
  readonly sites: Observed["sites"];
}

export function createReconciler(deps: ReconcilerDeps, wakeSignal: WakeSignal): Reconciler {
  const { stores, settings, logger, serverLeases } = deps;
  const wake = () => wakeSignal.notify("resource");
  const stopping = new AbortController();
  const observer = createObserver(stores, { wakeSignal, keptSeconds: settings.idleSeconds });
  const history = createReleaseHistory(deps, wake);
  const warnings = dedupedWarnings(logger);
  const proxies = new ProxySync({ ...deps, observer, warnings });
  const forwards = createForwards(deps);
  const operations = createOperationRunner(
    {
      ...deps,
      onStart: history.started,
      onStartFailed: history.startFailed,
      onName: history.named,
      onGiveUp: history.forgive,
      imageless: new Set(),
    },
    { stopping: stopping.signal, onFree: wake },
  );
  const engines = new Map<number, ServerRecord["engine"]>();
  const visits = new ServerVisits({ work: reconcileOwn, wake });
  const loops = createLoops(logger, [
    {
      title: "The visits to servers",
      work: visitAll,
      seconds: () => settings.reconcileSeconds,
      wake: { signal: wakeSignal, topics: ["resource", "removal", "server"] },
      gatherSeconds: () => GATHER_SECONDS + GATHER_SECONDS_PER_RESOURCE * observer.resourceCount(),
    },
  ]);

  async function visitAll(): Promise<void> {
    const all = await stores.servers.list();
    await deps.keepOnly?.(all);
    const servers = all.filter(deps.ownsServer);
    // One that has another engine now is visited like another server.
    const kept = servers.filter(({ id, engine }) => (engines.get(id) ?? engine) === engine);
    for (const id of visits.keepOnly(kept)) {
      engines.delete(id);
      for (const about of [ofSnapshot(id), ofRemoval(id)]) warnings.forget(about);
      observer.forget(id);
      proxies.forget(id);
      forwards.forget(id);
      deps.forgetAdapters(id);
    }
    for (const server of servers) {
      engines.set(server.id, server.engine);
      visits.begin(deps.adaptersOf(server));
    }
  }

  async function reconcileOwn(adapters: ServerAdapters): Promise<void> {
    const { id, name } = adapters.server;
    try {
      if (await serverLeases.acquire(id)) {
        visits.watch(adapters);
        await serverLeases.during(id, () => reconcile(adapters));
      } else {
        visits.unwatch(id);
        // Another worker may change the proxy, so it must be synced again later.
        proxies.expire(id);
      }
      warnings.over(ofSnapshot(id), "A server can be inspected again.", { server: name });
    } catch (error) {
      warnings.failed(ofSnapshot(id), "A server could not be inspected.", { server: name, error });
      if (isServerAway(error)) await removeUnreached(adapters.server);
    }
  }

  async function reconcile(adapters: ServerAdapters): Promise<void> {
    await proxies.syncIfDue(adapters);
    const cached = await planned(adapters, observer.cachedSnapshot);
    if (cached !== undefined) forwards.sync(adapters, cached.snapshot.revision);
    if (cached !== undefined && planOf(adapters, cached).length === 0) {
      history.record(adapters, cached.snapshot);
      // Nothing to do by the cached snapshot, in which a restarted release has no known health.
      if (planOf(adapters, cached).length === 0) return;
    }
    // Operations are planned from a fresh snapshot only.
    const fresh = await planned(adapters, observer.look);
    if (fresh === undefined) return;
    forwards.sync(adapters, fresh.snapshot.revision);
    history.record(adapters, fresh.snapshot);
    const operationsNow = planOf(adapters, fresh);
    const isRouted = operationsNow.filter(isRoute).length > ROUTES_MAX && (await proxies.sync(adapters));
    // Some operations follow the route of their resource, so all of them are planned again.
    const routed = isRouted ? await planned(adapters, observer.look) : undefined;
    operations.begin(adapters, routed === undefined ? operationsNow : planOf(adapters, routed));
  }

  async function planned(
    adapters: ServerAdapters,
    read: (adapters: ServerAdapters) => Promise<Snapshot | undefined>,
  ): Promise<PlannedSnapshot | undefined> {
    // Read before the snapshot: a newer site would seem to belong to no resource.
    const sites = adapters.router.sites();
    const snapshot = await read(adapters);
    return snapshot && { snapshot, sites };
  }

  function planOf(adapters: ServerAdapters, { snapshot, sites }: PlannedSnapshot): readonly Operation[] {
    return history.plan(adapters, snapshot, sites);
  }

  async function removeUnreached(server: ServerRecord): Promise<void> {
    const { id, name } = server;
    try {
      await removeOutOfReach(deps, server, stopping.signal);
      warnings.forget(ofRemoval(id));
    } catch (error) {
      warnings.failed(ofRemoval(id), "Objects on a server could not be removed.", { server: name, error });
    }
  }

  return {
    start: () => loops.start(),
    async stop() {
      stopping.abort();
      visits.stop();
      await loops.stop();
      await history.stop();
      await forwards.stop();
      await within(STOP_SECONDS_MAX, Promise.all([visits.ended(), operations.ended()]));
      for (const id of visits.ids()) await serverLeases.release(id).catch(() => undefined);
    },
    markHealthy: (deploymentUuid) => history.markHealthy(deploymentUuid),
  };
}

const isRoute = ({ type }: Operation): boolean => type === "route" || type === "unroute";

const ofSnapshot = (serverId: number) => `snapshot ${serverId}`;
const ofRemoval = (serverId: number) => `removal ${serverId}`;

/** Each route reads its records and writes all routes of the proxy; more of them cost less together. */
const ROUTES_MAX = 10;
/** Changes within this time are handled together. */
const GATHER_SECONDS = 0.05;
/** A visit plans every resource: 10,000 take 40 ms of CPU, which is an eighth of the time between two visits. */
const GATHER_SECONDS_PER_RESOURCE = 25e-6;
const STOP_SECONDS_MAX = 10;
