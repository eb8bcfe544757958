import { isDomainError } from "@berth/core";
import { type Observed, type Operation, sitesOf } from "@berth/core/deploy";
import type { ServerRecord } from "@berth/core/ports";
import { proxyStatusOf } from "@berth/core/server";
import { dedupedWarnings } from "./deduped-warnings.ts";
import { createForwards } from "./forward.ts";
import { createLoops } from "./loop.ts";
import { createObserver, type Snapshot } from "./observe.ts";
import { createOperationRunner } from "./operation-runner.ts";
import type { WorkerDeps } from "./ports.ts";
import { createReleaseHistory } from "./release-history.ts";
import { removeOutOfReach } from "./removal.ts";
import { retryBackoff } from "./retry-backoff.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import { recordProxyStatus } from "./server-proxy.ts";
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

/** State of one server, from its first visit to its last. */
interface ServerState {
  syncedMs: number;
  proxySeenMs: number;
  /** The visit that is under way. */
  visit: Promise<void> | undefined;
  /** Whether something changed after the current visit took its snapshot. */
  isStale: boolean;
  readonly unsubscribe: () => void;
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
  const serverStates = new Map<number, ServerState>();
  const observer = createObserver(stores, { wakeSignal, keptSeconds: settings.idleSeconds });
  const history = createReleaseHistory(deps, wake);
  const warnings = dedupedWarnings(logger);
  const proxyBackoff = retryBackoff({ firstSeconds: settings.restSeconds, secondsMax: settings.proxyRestSecondsMax });
  const forwards = createForwards(deps);
  const operations = createOperationRunner(
    { ...deps, onStart: history.started, onName: history.named, onGiveUp: history.forgive, imageless: new Set() },
    { stopping: stopping.signal, onFree: wake },
  );
  const loops = createLoops(logger, [
    {
      title: "The visits to servers",
      work: visitAll,
      seconds: () => settings.reconcileSeconds,
      wake: { signal: wakeSignal, topics: ["resource", "removal", "server"] },
      gatherSeconds: GATHER_SECONDS,
    },
  ]);

  async function visitAll(): Promise<void> {
    const all = await stores.servers.list();
    await deps.keepOnly?.(all);
    const servers = all.filter(deps.ownsServer);
    forgetOthers(servers);
    for (const server of servers) visit(server);
  }

  function forgetOthers(servers: readonly ServerRecord[]): void {
    const ids = new Set(servers.map(({ id }) => id));
    for (const [id, { unsubscribe }] of serverStates) {
      if (ids.has(id)) continue;
      unsubscribe();
      serverStates.delete(id);
      for (const about of [ofSnapshot(id), ofProxy(id), ofRemoval(id)]) warnings.forget(about);
      forwards.forget(id);
      deps.forgetAdapters(id);
    }
  }

  /** Servers are visited side by side, so that one that does not answer delays no other. */
  function visit(server: ServerRecord): void {
    const adapters = deps.adaptersOf(server);
    const serverState = serverStateOf(adapters);
    if (serverState.visit !== undefined) {
      serverState.isStale = true;
      return;
    }
    serverState.visit = reconcileOwn(adapters, serverState).finally(() => {
      serverState.visit = undefined;
      if (serverState.isStale && !stopping.signal.aborted) wake();
      serverState.isStale = false;
    });
  }

  function serverStateOf({ server, engine }: ServerAdapters): ServerState {
    const known = serverStates.get(server.id);
    if (known !== undefined) return known;
    const serverState = {
      syncedMs: NEVER,
      proxySeenMs: NEVER,
      visit: undefined,
      isStale: false,
      unsubscribe: engine.onStateChange(wake),
    };
    serverStates.set(server.id, serverState);
    return serverState;
  }

  async function reconcileOwn(adapters: ServerAdapters, serverState: ServerState): Promise<void> {
    const { id, name } = adapters.server;
    try {
      if (await serverLeases.acquire(id)) await reconcile(adapters, serverState);
      // Without the lease another worker may change the proxy, so it must be synced again later.
      else serverState.syncedMs = NEVER;
      warnings.over(ofSnapshot(id), "A server can be inspected again.", { server: name });
    } catch (error) {
      warnings.failed(ofSnapshot(id), "A server could not be inspected.", { server: name, error });
      if (isDomainError(error, "engine.unreachable", "server.unreachable")) await removeUnreached(adapters.server);
    }
  }

  async function reconcile(adapters: ServerAdapters, serverState: ServerState): Promise<void> {
    await syncProxy(adapters, serverState);
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
    const isRouted = operationsNow.filter(isRoute).length > ROUTES_MAX && (await syncSites(adapters, serverState));
    // Some operations follow the route of their resource, so all of them are planned again.
    const routed = isRouted ? await planned(adapters, observer.look) : undefined;
    operations.begin(adapters, routed === undefined ? operationsNow : planOf(adapters, routed));
  }

  async function planned(
    adapters: ServerAdapters,
    read: (adapters: ServerAdapters) => Promise<Snapshot | undefined>,
  ): Promise<PlannedSnapshot | undefined> {
    // Read before the snapshot: a newer site would seem to belong to no resource.
    const sites = new Map(adapters.router.sites());
    const snapshot = await read(adapters);
    return snapshot && { snapshot, sites };
  }

  function planOf(adapters: ServerAdapters, { snapshot, sites }: PlannedSnapshot): readonly Operation[] {
    return history.plan(adapters, snapshot, sites);
  }

  async function syncProxy(adapters: ServerAdapters, serverState: ServerState): Promise<void> {
    await lookAtProxy(adapters, serverState).catch(() => undefined);
    const isDue = performance.now() - serverState.syncedMs > settings.resyncSeconds * 1000;
    if (isDue || adapters.router.isUncertain()) await syncSites(adapters, serverState);
  }

  /** @returns Whether the proxy has its sites. */
  async function syncSites(adapters: ServerAdapters, serverState: ServerState): Promise<boolean> {
    const { router, proxy, server } = adapters;
    if (proxy.lifecycle !== undefined && proxyBackoff.isResting(ofProxy(server.id))) return false;
    try {
      await router.sync(async () => {
        const { wanted, releases } = await observer.look(adapters);
        return sitesOf(wanted, releases);
      });
      serverState.syncedMs = performance.now();
      proxyBackoff.succeeded(ofProxy(server.id));
      await recordProxyStatus(deps, server, proxy, { recorded: server });
      warnings.over(ofProxy(server.id), "The proxy knows its sites again.", { server: server.name });
      return true;
    } catch (error) {
      proxyBackoff.failed(ofProxy(server.id));
      // Releases are looked after even while their proxy is away.
      warnings.failed(ofProxy(server.id), "The proxy did not accept its sites.", { server: server.name, error });
      const problem = isDomainError(error) ? error.message : "Internal error: Berth's own log has the details.";
      await recordProxyStatus(deps, server, proxy, { problem }).catch(() => undefined);
      return false;
    }
  }

  /** Between two synchronisations: a proxy that ended is seen within seconds, and so is one that is back. */
  async function lookAtProxy({ proxy, server, router }: ServerAdapters, serverState: ServerState): Promise<void> {
    const isNeeded = router.sites().size > 0 || server.proxy_status === "running";
    if (!isNeeded || performance.now() - serverState.proxySeenMs < settings.proxyLookSeconds * 1000) return;
    serverState.proxySeenMs = performance.now();
    const problem = router.isUncertain() ? (server.proxy_problem ?? undefined) : undefined;
    const seen = await recordProxyStatus(deps, server, proxy, { problem, recorded: server });
    if (seen === undefined || server.is_proxy_stopped) return;
    if (seen.state === "running" && proxyStatusOf(seen) !== server.proxy_status)
      proxyBackoff.succeeded(ofProxy(server.id));
    if (seen.state !== "running" && router.sites().size > 0) serverState.syncedMs = NEVER;
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
      for (const { unsubscribe } of serverStates.values()) unsubscribe();
      await loops.stop();
      await history.stop();
      await forwards.stop();
      const visits = [...serverStates.values()].map((serverState) => serverState.visit);
      await within(STOP_SECONDS_MAX, Promise.all([...visits, operations.ended()]));
      for (const id of serverStates.keys()) await serverLeases.release(id).catch(() => undefined);
    },
    markHealthy: (deploymentUuid) => history.markHealthy(deploymentUuid),
  };
}

const isRoute = ({ type }: Operation): boolean => type === "route" || type === "unroute";

const ofSnapshot = (serverId: number) => `snapshot ${serverId}`;
const ofProxy = (serverId: number) => `proxy ${serverId}`;
const ofRemoval = (serverId: number) => `removal ${serverId}`;

const NEVER = Number.NEGATIVE_INFINITY;
/** Each route reads its records and writes all routes of the proxy; more of them cost less together. */
const ROUTES_MAX = 10;
/** Changes within this time are handled together. */
const GATHER_SECONDS = 0.05;
const STOP_SECONDS_MAX = 10;
