import { isDomainError } from "@berth/core";
import { deployedKind, type Observed, type Operation, plan, sitesOf } from "@berth/core/deploy";
import type { ServerRecord } from "@berth/core/ports";
import { dedupedWarnings } from "./deduped-warnings.ts";
import { createForwards } from "./forward.ts";
import { createHealthWatch, type HealthWatch } from "./health-watch.ts";
import { createLoops } from "./loop.ts";
import { createObserver, type Snapshot } from "./observe.ts";
import { applyOperation, lockKey, type OperationDeps } from "./operations.ts";
import type { WorkerDeps } from "./ports.ts";
import { removeOutOfReach } from "./removal.ts";
import { createRestartBackoff } from "./restart-backoff.ts";
import { createRestarts } from "./restarts.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import { noteProxyStatus } from "./server-proxy.ts";
import type { WorkerSettings } from "./settings.ts";
import { within } from "./wait.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Keeps every server as it is recorded: what should run runs, what should not is gone, the proxy knows who is who. */
export interface Reconciler {
  start(): void;
  stop(): Promise<void>;
  markHealthy(deploymentUuid: string): void;
}

export interface ReconcilerDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly serverLeases: ServerLeases;
  readonly adaptersOf: (server: ServerRecord) => ServerAdapters;
  /** Drops the adapters of a server that is gone or no longer reachable from here. */
  readonly forgetAdapters: (serverId: number) => void;
}

/** One server's part in it, from the first look to the last. */
interface ServerState {
  syncedMs: number;
  /** The visit that is under way. */
  visit: Promise<void> | undefined;
  /** Something has changed since that visit looked. */
  isStale: boolean;
  readonly unsubscribe: () => void;
}

/** A look, and what the proxy had been told before it. */
interface PlannedSnapshot {
  readonly look: Snapshot;
  readonly sites: Observed["sites"];
}

interface OperationLock {
  readonly work: Promise<void>;
  /** A visit wanted more to be done here. */
  isAwaited: boolean;
}

export function createReconciler(deps: ReconcilerDeps, wakeSignal: WakeSignal): Reconciler {
  const { stores, settings, logger, serverLeases } = deps;
  const serverStates = new Map<number, ServerState>();
  const locks = new Map<string, OperationLock>();
  const observer = createObserver(stores);
  const restartBackoff = createRestartBackoff(settings);
  const renameBackoff = createRestartBackoff(settings);
  const restarts = createRestarts(deps.clock);
  const warnings = dedupedWarnings(logger);
  const forwards = createForwards(deps);
  const watch: HealthWatch = createHealthWatch(deps, () => wakeSignal.notify());
  const operationDeps: OperationDeps = {
    ...deps,
    onStart: (uuid) => restartBackoff.tried(uuid),
    onName: (uuid) => renameBackoff.tried(uuid),
    imageless: new Set(),
    onGiveUp: (uuid) => restarts.forgive(uuid),
  };

  const visitAll = async () => {
    const all = await stores.servers.list();
    await deps.keepOnly?.(all);
    const servers = all.filter(deps.ownsServer);
    forgetOthers(servers);
    for (const server of servers) visit(server);
  };

  const forgetOthers = (servers: readonly ServerRecord[]) => {
    const ids = new Set(servers.map(({ id }) => id));
    for (const [id, { unsubscribe }] of serverStates) {
      if (ids.has(id)) continue;
      unsubscribe();
      serverStates.delete(id);
      for (const about of [ofLook(id), ofProxy(id), ofRemoval(id)]) warnings.forget(about);
      forwards.forget(id);
      deps.forgetAdapters(id);
    }
  };

  /** Servers are visited side by side: one that does not answer holds up no other. */
  const visit = (server: ServerRecord) => {
    const adapters = deps.adaptersOf(server);
    const serverState = serverStateOf(adapters);
    if (serverState.visit !== undefined) {
      serverState.isStale = true;
      return;
    }
    serverState.visit = look(adapters, serverState).finally(() => {
      serverState.visit = undefined;
      if (serverState.isStale && !loops.signal.aborted) wakeSignal.notify();
      serverState.isStale = false;
    });
  };

  const look = async (adapters: ServerAdapters, serverState: ServerState) => {
    const { id, name } = adapters.server;
    try {
      if (await acquire(adapters.server, serverState)) await reconcile(adapters, serverState);
      warnings.over(ofLook(id), "A server can be looked at again.", { server: name });
    } catch (error) {
      warnings.failed(ofLook(id), "A server could not be looked at.", { server: name, error });
      if (isDomainError(error, "engine.unreachable", "server.unreachable")) await removeUnreached(adapters.server);
    }
  };

  const removeUnreached = async (server: ServerRecord) => {
    try {
      await removeOutOfReach(deps, server, loops.signal);
      warnings.forget(ofRemoval(server.id));
    } catch (error) {
      warnings.failed(ofRemoval(server.id), "What is on a server could not be removed.", {
        server: server.name,
        error,
      });
    }
  };

  const serverStateOf = ({ server, engine }: ServerAdapters): ServerState => {
    const known = serverStates.get(server.id);
    if (known !== undefined) return known;
    const unsubscribe = engine.onStateChange(() => wakeSignal.notify());
    const serverState: ServerState = { syncedMs: NEVER, visit: undefined, isStale: false, unsubscribe };
    serverStates.set(server.id, serverState);
    return serverState;
  };

  const acquire = async (server: ServerRecord, serverState: ServerState): Promise<boolean> => {
    const isHeld = await serverLeases.acquire(server.id);
    // Another worker may have changed the proxy in between.
    if (!isHeld) serverState.syncedMs = NEVER;
    return isHeld;
  };

  const reconcile = async (adapters: ServerAdapters, serverState: ServerState) => {
    await syncProxy(adapters, serverState);
    forwards.sync(adapters);
    const cachedSnapshot = await seen(adapters, observer.cachedSnapshot);
    if (cachedSnapshot !== undefined && planOf(adapters, cachedSnapshot).length === 0) {
      recordSnapshot(adapters, cachedSnapshot.look);
      // A release that restarted meanwhile is not known to be healthy.
      if (planOf(adapters, cachedSnapshot).length === 0) return;
    }
    // Operations are planned from a fresh snapshot only.
    const now = await seen(adapters, observer.look);
    if (now === undefined) return;
    recordSnapshot(adapters, now.look);
    for (const [name, operations] of Map.groupBy(planOf(adapters, now), lockKey)) begin(adapters, name, operations);
  };

  /** `undefined` when there is no such look. */
  const seen = async (
    adapters: ServerAdapters,
    read: (adapters: ServerAdapters) => Promise<Snapshot | undefined>,
  ): Promise<PlannedSnapshot | undefined> => {
    // Before the look: a site that is newer than what was looked at would seem to belong to no resource.
    const sites = new Map(adapters.router.sites());
    const look = await read(adapters);
    return look && { look, sites };
  };

  const recordSnapshot = (adapters: ServerAdapters, look: Snapshot) => {
    restartBackoff.seen(look.releases);
    renameBackoff.seen(look.releases.filter(({ containerName: name }) => name?.now === name?.wanted));
    restarts.seen(adapters.server.id, look.releases);
    watch.probe(adapters, watchedOf(look));
  };

  const planOf = ({ server }: ServerAdapters, { look, sites }: PlannedSnapshot): readonly Operation[] =>
    plan(look.wanted, {
      releases: look.releases,
      health: watch.health(look.releases),
      sites,
      backingOff: restartBackoff.now(),
      unnamed: renameBackoff.now(),
      restarts: restarts.now(server.id),
    });

  const syncProxy = async (adapters: ServerAdapters, serverState: ServerState) => {
    const isDue = performance.now() - serverState.syncedMs > settings.resyncSeconds * 1000;
    if (!isDue && !adapters.router.isUncertain()) return;
    const { id, name } = adapters.server;
    try {
      await adapters.router.sync(async () => {
        const { wanted, releases } = await observer.look(adapters);
        return sitesOf(wanted, releases);
      });
      serverState.syncedMs = performance.now();
      await noteProxyStatus(deps, adapters.server, adapters.proxy, { problem: null, recorded: adapters.server });
      warnings.over(ofProxy(id), "The proxy knows its sites again.", { server: name });
    } catch (error) {
      // Releases are looked after even while their proxy is away.
      warnings.failed(ofProxy(id), "The proxy did not accept its sites.", { server: name, error });
      const problem = isDomainError(error) ? error.message : "Something failed inside of Berth: its log says what.";
      await noteProxyStatus(deps, adapters.server, adapters.proxy, { problem }).catch(() => undefined);
    }
  };

  /** A slow operation blocks only those with the same lock key. */
  const begin = (adapters: ServerAdapters, name: string, operations: readonly Operation[]) => {
    const before = locks.get(name);
    if (before !== undefined) {
      before.isAwaited = true;
      return;
    }
    const work = run(adapters, operations).finally(() => {
      locks.delete(name);
      if (lane.isAwaited) wakeSignal.notify();
    });
    const lane: OperationLock = { work, isAwaited: false };
    locks.set(name, lane);
  };

  const run = async (adapters: ServerAdapters, operations: readonly Operation[]) => {
    for (const operation of operations) {
      if (loops.signal.aborted) return;
      try {
        await applyOperation(operationDeps, adapters, operation, loops.signal);
        const { type } = operation;
        // The cached settings are older than what these operations wrote.
        if (type === "set_restarts" || type === "set_statuses" || type === "route") {
          observer.forget(operation.resourceId);
        }
      } catch (error) {
        if (loops.signal.aborted) return;
        const details = { server: adapters.server.name, operation, error };
        logger.warn("A server could not be brought to what is recorded.", details);
      }
    }
  };

  const loops = createLoops(logger, [
    {
      title: "The visits to servers",
      work: visitAll,
      seconds: () => settings.reconcileSeconds,
      wakeSignal,
      gatherSeconds: GATHER_SECONDS,
    },
  ]);

  return {
    start: () => loops.start(),
    async stop() {
      const ended = loops.stop();
      for (const { unsubscribe } of serverStates.values()) unsubscribe();
      await ended;
      await watch.stop();
      await forwards.stop();
      const visits = [...serverStates.values()].map((serverState) => serverState.visit);
      await within(STOP_SECONDS_MAX, Promise.all([...visits, ...[...locks.values()].map(({ work }) => work)]));
      for (const id of serverStates.keys()) await serverLeases.release(id).catch(() => undefined);
    },
    markHealthy: (deploymentUuid) => watch.markHealthy(deploymentUuid),
  };
}

function watchedOf({ wanted, releases, subjects }: Snapshot) {
  const states = new Map(releases.map((state) => [state.deploymentUuid, state]));
  return wanted.resources.flatMap(({ id, releases: records }) => {
    const subject = subjects.get(id);
    const check = subject && deployedKind(subject).healthCheck(subject);
    return records.flatMap(({ role, deploymentUuid }) => {
      const state = role === "live" ? states.get(deploymentUuid) : undefined;
      return state && check ? [{ state, check }] : [];
    });
  });
}

const ofLook = (serverId: number) => `look ${serverId}`;
const ofProxy = (serverId: number) => `proxy ${serverId}`;
const ofRemoval = (serverId: number) => `removal ${serverId}`;

const NEVER = Number.NEGATIVE_INFINITY;
/** Changes that come together are looked at together. */
const GATHER_SECONDS = 0.05;
const STOP_SECONDS_MAX = 10;
