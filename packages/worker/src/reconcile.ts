import { isDomainError } from "@berth/core";
import { deployedKind, type Observed, type Operation, plan, sitesOf } from "@berth/core/deploy";
import type { ServerRecord } from "@berth/core/ports";
import { createForwards } from "./forward.ts";
import type { ServerHands } from "./hands.ts";
import { createHealthWatch, type HealthWatch } from "./health-watch.ts";
import { createObserver, type Look } from "./observe.ts";
import { carryOut, laneOf, type OperationDeps } from "./operations.ts";
import type { WorkerDeps } from "./ports.ts";
import type { Pulse } from "./pulse.ts";
import { removeOutOfReach } from "./removal.ts";
import { createRestarts } from "./restarts.ts";
import { createResting } from "./resting.ts";
import type { ServerHolds } from "./server-hold.ts";
import { noteProxyStatus } from "./server-proxy.ts";
import type { WorkerSettings } from "./settings.ts";
import { troubles } from "./troubles.ts";
import { pause, within } from "./wait.ts";

/** Keeps every server as it is recorded: what should run runs, what should not is gone, the proxy knows who is who. */
export interface Reconciler {
  start(): void;
  stop(): Promise<void>;
  markHealthy(deploymentUuid: string): void;
}

export interface ReconcilerDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly holds: ServerHolds;
  readonly handsOf: (server: ServerRecord) => ServerHands;
  /** Of a server that is gone, or is not within reach any more. */
  readonly forgetHands: (serverId: number) => void;
}

/** One server's part in it, from the first look to the last. */
interface Post {
  syncedMs: number;
  /** The visit that is under way. */
  visit: Promise<void> | undefined;
  /** Something has changed since that visit looked. */
  isStale: boolean;
  readonly unsubscribe: () => void;
}

/** A look, and what the proxy had been told before it. */
interface Sighting {
  readonly look: Look;
  readonly sites: Observed["sites"];
}

interface Lane {
  readonly work: Promise<void>;
  /** A visit wanted more to be done here. */
  isAwaited: boolean;
}

export function createReconciler(deps: ReconcilerDeps, pulse: Pulse): Reconciler {
  const { stores, settings, logger, holds } = deps;
  const posts = new Map<number, Post>();
  const lanes = new Map<string, Lane>();
  const stopping = new AbortController();
  const observer = createObserver(stores);
  const resting = createResting(settings);
  const naming = createResting(settings);
  const restarts = createRestarts(deps.clock);
  const trouble = troubles(logger);
  const forwards = createForwards(deps);
  const watch: HealthWatch = createHealthWatch(deps, () => pulse.beat());
  const operationDeps: OperationDeps = {
    ...deps,
    onStart: (uuid) => resting.tried(uuid),
    onName: (uuid) => naming.tried(uuid),
    imageless: new Set(),
    onGiveUp: (uuid) => restarts.forgive(uuid),
  };
  let loop: Promise<void> = Promise.resolve();

  const visitAll = async () => {
    const follower = pulse.follow();
    while (!stopping.signal.aborted) {
      try {
        const all = await stores.servers.list();
        await deps.keepOnly?.(all);
        const servers = all.filter(deps.ownsServer);
        forgetOthers(servers);
        for (const server of servers) visit(server);
      } catch (error) {
        logger.warn("The servers cannot be looked after.", { error });
      }
      await pause(LOOK_SECONDS_MIN, stopping.signal);
      await follower.next(settings.reconcileSeconds, stopping.signal);
    }
  };

  const forgetOthers = (servers: readonly ServerRecord[]) => {
    const ids = new Set(servers.map(({ id }) => id));
    for (const [id, { unsubscribe }] of posts) {
      if (ids.has(id)) continue;
      unsubscribe();
      posts.delete(id);
      for (const about of [ofLook(id), ofProxy(id), ofRemoval(id)]) trouble.forget(about);
      forwards.forget(id);
      deps.forgetHands(id);
    }
  };

  /** Servers are visited side by side: one that does not answer holds up no other. */
  const visit = (server: ServerRecord) => {
    const hands = deps.handsOf(server);
    const post = postOf(hands);
    if (post.visit !== undefined) {
      post.isStale = true;
      return;
    }
    post.visit = look(hands, post).finally(() => {
      post.visit = undefined;
      if (post.isStale && !stopping.signal.aborted) pulse.beat();
      post.isStale = false;
    });
  };

  const look = async (hands: ServerHands, post: Post) => {
    const { id, name } = hands.server;
    try {
      if (await hold(hands.server, post)) await reconcile(hands, post);
      trouble.over(ofLook(id), "A server can be looked at again.", { server: name });
    } catch (error) {
      trouble.failed(ofLook(id), "A server could not be looked at.", { server: name, error });
      if (isDomainError(error, "engine.unreachable", "server.unreachable")) await removeUnreached(hands.server);
    }
  };

  const removeUnreached = async (server: ServerRecord) => {
    try {
      await removeOutOfReach(deps, server, stopping.signal);
      trouble.forget(ofRemoval(server.id));
    } catch (error) {
      trouble.failed(ofRemoval(server.id), "What is on a server could not be removed.", { server: server.name, error });
    }
  };

  const postOf = ({ server, engine }: ServerHands): Post => {
    const known = posts.get(server.id);
    if (known !== undefined) return known;
    const unsubscribe = engine.onStateChange(() => pulse.beat());
    const post: Post = { syncedMs: NEVER, visit: undefined, isStale: false, unsubscribe };
    posts.set(server.id, post);
    return post;
  };

  const hold = async (server: ServerRecord, post: Post): Promise<boolean> => {
    const isHeld = await holds.hold(server.id);
    // Whoever looked after it in between has told the proxy things that we do not know of.
    if (!isHeld) post.syncedMs = NEVER;
    return isHeld;
  };

  const reconcile = async (hands: ServerHands, post: Post) => {
    await syncProxy(hands, post);
    forwards.sync(hands);
    const glance = await seen(hands, observer.glance);
    if (glance !== undefined && planOf(hands, glance).length === 0) {
      heed(hands, glance.look);
      // What has begun anew meanwhile is not known to be healthy any more.
      if (planOf(hands, glance).length === 0) return;
    }
    // What is done is done from a look at how things are now.
    const now = await seen(hands, observer.look);
    if (now === undefined) return;
    heed(hands, now.look);
    for (const [name, operations] of Map.groupBy(planOf(hands, now), laneOf)) begin(hands, name, operations);
  };

  /** `undefined` when there is no such look. */
  const seen = async (
    hands: ServerHands,
    read: (hands: ServerHands) => Promise<Look | undefined>,
  ): Promise<Sighting | undefined> => {
    // Before the look: a site that is newer than what was looked at would seem to belong to no resource.
    const sites = new Map(hands.router.sites());
    const look = await read(hands);
    return look && { look, sites };
  };

  const heed = (hands: ServerHands, look: Look) => {
    resting.seen(look.releases);
    naming.seen(look.releases.filter(({ containerName: name }) => name?.now === name?.wanted));
    restarts.seen(hands.server.id, look.releases);
    watch.probe(hands, watchedOf(look));
  };

  const planOf = ({ server }: ServerHands, { look, sites }: Sighting): readonly Operation[] =>
    plan(look.wanted, {
      releases: look.releases,
      health: watch.health(look.releases),
      sites,
      resting: resting.now(),
      unnamed: naming.now(),
      restarts: restarts.now(server.id),
    });

  const syncProxy = async (hands: ServerHands, post: Post) => {
    const isDue = performance.now() - post.syncedMs > settings.resyncSeconds * 1000;
    if (!isDue && !hands.router.isUncertain()) return;
    const { id, name } = hands.server;
    try {
      await hands.router.sync(async () => {
        const { wanted, releases } = await observer.look(hands);
        return sitesOf(wanted, releases);
      });
      post.syncedMs = performance.now();
      await noteProxyStatus(deps, hands.server, hands.proxy, { problem: null, recorded: hands.server });
      trouble.over(ofProxy(id), "The proxy knows its sites again.", { server: name });
    } catch (error) {
      // Releases are looked after even while their proxy is away.
      trouble.failed(ofProxy(id), "The proxy could not be told its sites.", { server: name, error });
      const problem = isDomainError(error) ? error.message : "Something failed inside of Berth: its log says what.";
      await noteProxyStatus(deps, hands.server, hands.proxy, { problem }).catch(() => undefined);
    }
  };

  /** What takes long holds up only what it must not run beside. */
  const begin = (hands: ServerHands, name: string, operations: readonly Operation[]) => {
    const before = lanes.get(name);
    if (before !== undefined) {
      before.isAwaited = true;
      return;
    }
    const work = run(hands, operations).finally(() => {
      lanes.delete(name);
      if (lane.isAwaited) pulse.beat();
    });
    const lane: Lane = { work, isAwaited: false };
    lanes.set(name, lane);
  };

  const run = async (hands: ServerHands, operations: readonly Operation[]) => {
    for (const operation of operations) {
      if (stopping.signal.aborted) return;
      try {
        await carryOut(operationDeps, hands, operation, stopping.signal);
        const { type } = operation;
        // What was kept of the resource is older than what these wrote.
        if (type === "set_restarts" || type === "set_statuses" || type === "route") {
          observer.forget(operation.resourceId);
        }
      } catch (error) {
        if (stopping.signal.aborted) return;
        const details = { server: hands.server.name, operation, error };
        logger.warn("A server could not be brought to what is recorded.", details);
      }
    }
  };

  return {
    start: () => {
      loop = visitAll();
    },
    async stop() {
      stopping.abort();
      for (const { unsubscribe } of posts.values()) unsubscribe();
      await loop;
      await watch.stop();
      await forwards.stop();
      const visits = [...posts.values()].map((post) => post.visit);
      await within(STOP_SECONDS_MAX, Promise.all([...visits, ...[...lanes.values()].map(({ work }) => work)]));
      for (const id of posts.keys()) await holds.release(id).catch(() => undefined);
    },
    markHealthy: (deploymentUuid) => watch.markHealthy(deploymentUuid),
  };
}

function watchedOf({ wanted, releases, subjects }: Look) {
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
const LOOK_SECONDS_MIN = 0.05;
const STOP_SECONDS_MAX = 10;
