import { type HealthCheck, problemOf, watchOf } from "@berth/core/application";
import { type Health, type ReleaseState, type ReplicaState, replicaStates } from "@berth/core/deploy";
import type { WorkerDeps } from "./ports.ts";
import { probeRelease } from "./probe.ts";
import type { ServerAdapters } from "./server-adapters.ts";

/** Probes live releases at intervals, so that their status shows whether they answer. */
export interface HealthWatch {
  /** Begins the probes that are due. Releases that are not among `live` are forgotten. */
  probe(adapters: ServerAdapters, live: readonly Watched[]): void;
  /** Health of the probed releases among these, by deployment uuid. */
  health(releases: readonly Pick<ReleaseState, "deploymentUuid">[]): ReadonlyMap<string, Health>;
  /** Records that a deployment has just found it healthy. */
  markHealthy(deploymentUuid: string): void;
  stop(): Promise<void>;
}

export interface Watched {
  readonly state: ReleaseState;
  readonly check: HealthCheck;
}

interface ProbedReplicas {
  readonly state: ReleaseState;
  readonly replicas: readonly ReplicaState[];
  readonly problems: readonly (string | undefined)[];
}

type WatchDeps = Pick<WorkerDeps, "logger" | "clock">;

interface Watch {
  health: Health;
  failures: number;
  /** Failures in a row by the title of a replica, of those that failed last. */
  replicaFailures: ReadonlyMap<string, number>;
  nextMs: number;
  /** A restarted release is watched as a new one. */
  startedAt: number | undefined;
}

/** @param onChange Called when a release became healthy or unhealthy. */
export function createHealthWatch({ logger, clock }: WatchDeps, onChange: () => void): HealthWatch {
  const watches = new Map<string, Watch>();
  const byServer = new Map<number, ReadonlySet<string>>();
  /** Running probes of each server, so that hanging applications delay only their own server. */
  const running = new Map<number, Set<Promise<void>>>();
  const stopping = new AbortController();
  const busy = new Set<string>();

  const look = async (adapters: ServerAdapters, { state, check: whole }: Watched, watch: Watch) => {
    const watched = watchOf(whole);
    const check = { ...watched, timeoutSeconds: Math.min(watched.timeoutSeconds, TIMEOUT_SECONDS_MAX) };
    const replicas: readonly ReplicaState[] = replicaStates(state) ?? [state];
    const outcomes = await Promise.all(replicas.map((one) => probeRelease(adapters, one, check, stopping.signal)));
    // Also when nobody watches it any more.
    if (stopping.signal.aborted || watches.get(state.deploymentUuid) !== watch) return;
    const problems = outcomes.map((outcome) => problemOf(check, outcome));
    const problem = problems.find((one) => one !== undefined);
    const before = watch.health;
    const ranSeconds = state.startedAt === null ? 0 : (clock.now().getTime() - state.startedAt.getTime()) / 1000;
    const isStarting =
      watch.health === "unknown" && ranSeconds < whole.startPeriodSeconds && state.isUncounted !== true;
    watch.failures = problem === undefined || isStarting ? 0 : watch.failures + 1;
    if (problem === undefined) watch.health = "healthy";
    else if (watch.failures >= check.failuresMax) watch.health = "unhealthy";
    const isOfOne = recordReplicas(adapters, watch, { state, replicas, problems: isStarting ? [] : problems }, check);
    // Probes more often while it starts or its health is about to change.
    const isSettled = problem === undefined || watch.health === "unhealthy";
    const seconds = isStarting ? STARTING_SECONDS : Math.min(check.intervalSeconds, UNSETTLED_SECONDS);
    watch.nextMs = performance.now() + (isSettled ? check.intervalSeconds : seconds) * 1000;
    if (watch.health !== before || isOfOne) onChange();
  };

  /** @returns Whether another replica is unhealthy than before. */
  const recordReplicas = (
    { replicaHealth }: ServerAdapters,
    watch: Watch,
    { state, replicas, problems }: ProbedReplicas,
    { failuresMax }: HealthCheck,
  ): boolean => {
    const failures = replicas.flatMap(({ container }, at) =>
      container === undefined || problems[at] === undefined
        ? []
        : [[container, (watch.replicaFailures.get(container) ?? 0) + 1] as const],
    );
    watch.replicaFailures = new Map(failures);
    const unhealthy = failures.flatMap(([title, count]) => (count >= failuresMax ? [title] : []));
    return replicaHealth.record(state.deploymentUuid, new Set(unhealthy));
  };

  const begin = (adapters: ServerAdapters, watched: Watched) => {
    const uuid = watched.state.deploymentUuid;
    const watch = current(watched.state);
    const own = running.get(adapters.server.id) ?? new Set();
    if (busy.has(uuid) || performance.now() < watch.nextMs || own.size >= CONCURRENT_MAX) return;
    running.set(adapters.server.id, own);
    busy.add(uuid);
    const work = look(adapters, watched, watch)
      .catch((error: unknown) => logger.warn("A release could not be probed.", { deployment: uuid, error }))
      .finally(() => {
        busy.delete(uuid);
        own.delete(work);
        if (own.size === 0) running.delete(adapters.server.id);
      });
    own.add(work);
  };

  const current = ({ deploymentUuid, startedAt, isUncounted }: ReleaseState): Watch => {
    const known = watches.get(deploymentUuid);
    if (known !== undefined && isUncounted === true) return known;
    const at = startedAt?.getTime();
    if (known !== undefined && (known.startedAt === undefined || known.startedAt === at)) {
      known.startedAt = at;
      return known;
    }
    const fresh: Watch = { ...NO_FAILURES, health: "unknown", nextMs: 0, startedAt: at };
    watches.set(deploymentUuid, fresh);
    return fresh;
  };

  const forget = ({ replicaHealth }: ServerAdapters, uuid: string) => {
    watches.delete(uuid);
    replicaHealth.forget(uuid);
  };

  return {
    probe(adapters, live) {
      const uuids = new Set(live.map(({ state }) => state.deploymentUuid));
      for (const uuid of byServer.get(adapters.server.id) ?? []) if (!uuids.has(uuid)) forget(adapters, uuid);
      byServer.set(adapters.server.id, uuids);
      for (const watched of live) {
        // Engines themselves watch releases that have their own check.
        const { state, check } = watched;
        if (state.state === "running" && state.health === undefined && check.probe.type !== "steady")
          begin(adapters, watched);
        // After a restart the health found by the deployment no longer applies.
        else if (state.health !== undefined && watches.has(state.deploymentUuid)) current(state);
      }
    },
    health(releases) {
      const found = new Map<string, Health>();
      for (const { deploymentUuid } of releases) {
        const watch = watches.get(deploymentUuid);
        if (watch !== undefined) found.set(deploymentUuid, watch.health);
      }
      return found;
    },
    markHealthy(deploymentUuid) {
      watches.set(deploymentUuid, {
        ...NO_FAILURES,
        health: "healthy",
        nextMs: performance.now() + AFTER_DEPLOYMENT_MS,
        startedAt: undefined,
      });
    },
    async stop() {
      stopping.abort();
      await Promise.all([...running.values()].flatMap((own) => [...own]));
    },
  };
}

const NO_FAILURES = { failures: 0, replicaFailures: new Map<string, number>() };
const CONCURRENT_MAX = 8;
/** Shorter than a deployment would wait: a hanging application must not block the others. */
const TIMEOUT_SECONDS_MAX = 30;
const AFTER_DEPLOYMENT_MS = 10_000;
const STARTING_SECONDS = 1;
const UNSETTLED_SECONDS = 5;
