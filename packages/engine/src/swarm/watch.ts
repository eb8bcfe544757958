import { isServerAway } from "@berth/core";
import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import { engineError, TASK_ROLE } from "@berth/docker-client";
import pLimit from "p-limit";
import { followEvents } from "../docker/events.ts";
import { partOf, type ReleasePart } from "../docker/state.ts";
import { type StateListeners, stateListeners } from "../docker/state-listeners.ts";
import { LINGER_SECONDS, type ReleaseWatch, watchReleases } from "../docker/watch.ts";
import { whileUsed } from "../docker/while-used.ts";
import { answered } from "./answered.ts";
import { AssignedTasks } from "./assigned-tasks.ts";
import { AwaitedNodes, type AwaitedNodesOptions } from "./awaited-nodes.ts";
import {
  answering,
  type ClusterNode,
  clusterNodes,
  namedNodes,
  type OwnNode,
  ownNodes,
  type SwarmNode,
} from "./nodes.ts";
import { lostData, placementProblem, SteadyNodes } from "./placement-problem.ts";
import { RestartCounts } from "./restart-counts.ts";
import type { SeenRelease, TaskContainer } from "./seen-release.ts";
import { type FoundService, placementOf, type Services } from "./services.ts";
import { byAge, clusterState } from "./state.ts";
import { partOfTask } from "./task-part.ts";

export interface ClusterWatchOptions extends AwaitedNodesOptions {
  readonly services: Services;
  readonly instance: string;
  readonly resyncSeconds: number;
  readonly warn: (message: string, cause: unknown) => void;
  /** Called when nodes were looked at. */
  readonly onNodes?: (nodes: readonly ClusterNode[]) => void;
}

/** A container that runs, as far as its events say. */
export interface RunningTask {
  readonly id: string;
  readonly startedAt: Date | null;
  readonly node: SwarmNode;
}

/** Tracks the releases of a swarm: services and nodes by a manager, containers by the engine of each node. */
export class ClusterWatch {
  readonly awaitedNodes: AwaitedNodes;
  readonly #options: ClusterWatchOptions;
  readonly #watches = new Map<string, { readonly node: SwarmNode; readonly watch: ReleaseWatch }>();
  readonly #listeners: StateListeners;
  readonly #closing = new AbortController();
  readonly #following = whileUsed({ begin: (signal) => this.#begin(signal), lingerSeconds: LINGER_SECONDS });
  readonly #inTurn = pLimit(1);
  readonly #emitted = new Map<string, string>();
  /** Who waits for the next look. */
  readonly #waiting = new Set<() => void>();
  readonly #restarts = new RestartCounts();
  readonly #assigned: AssignedTasks;
  /** Numbers of replicas that the swarm removes, by deployment. */
  readonly #leaving = new Map<string, ReadonlySet<number>>();
  /** As last looked up; `undefined` while changes may be missed. */
  #services: readonly FoundService[] | undefined;
  readonly #nodes: SteadyNodes;
  #readyIds: ReadonlySet<string> = new Set();
  #isFailureReported = false;

  constructor(options: ClusterWatchOptions) {
    this.#options = options;
    this.awaitedNodes = new AwaitedNodes(options);
    this.#nodes = new SteadyNodes(options.returnSeconds);
    this.#assigned = new AssignedTasks(options.services);
    this.#listeners = stateListeners(options.warn);
  }

  /** Follows the events until the returned function is called, and a while longer. */
  follow(): () => void {
    return this.#following.use();
  }

  #begin(signal: AbortSignal): void {
    const timer = setInterval(
      () => this.#enqueue(() => this.#resync(signal)),
      this.#options.resyncSeconds * 1000,
    ).unref();
    signal.addEventListener("abort", () => {
      clearInterval(timer);
      this.#services = undefined;
      for (const { watch } of this.#watches.values()) watch.close();
      this.#watches.clear();
    });
    void followEvents({
      docker: this.#options.docker,
      filters: { type: ["service", "node"] },
      signal,
      onEvent: () => this.#enqueue(() => this.#resync(signal)),
      onConnected: () => this.#enqueue(() => this.#resync(signal)),
      onLost: () => {
        this.#services = undefined;
      },
      hurried: () => signal,
    });
  }

  close(): void {
    this.#closing.abort();
    this.#following.close();
    for (const { watch } of this.#watches.values()) watch.close();
    this.#listeners.clear();
  }

  onChange(listener: (state: ReleaseState) => void): () => void {
    return this.#listeners.add(listener);
  }

  changed(ref: ReleaseRef, signal: AbortSignal | undefined): Promise<void> {
    return this.#listeners.changed(ref, signal);
  }

  /** The nodes that are servers of Berth's, whatever their state is. */
  allNodes(): Promise<readonly SwarmNode[]> {
    return this.#options.nodes();
  }

  /** Resolves when something was looked up again, after an event or a while, or on `signal`. */
  nextLook(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
      if (signal.aborted) done();
    });
  }

  /** The nodes on which tasks may run, and that are servers of Berth's. */
  async readyNodes(isFresh = false): Promise<readonly OwnNode[]> {
    return (await this.#ownNodes(isFresh)).filter(({ isReady }) => isReady);
  }

  /** Those of them that Berth reaches. */
  async answeringNodes(): Promise<readonly OwnNode[]> {
    return await answering(await this.readyNodes());
  }

  /** All that Berth reaches, also those that the managers do not reach, or not again yet. */
  async reachedNodes(): Promise<readonly OwnNode[]> {
    return await answering(await this.#ownNodes());
  }

  async #ownNodes(isFresh = false): Promise<readonly OwnNode[]> {
    const { docker, nodes } = this.#options;
    const [all, adapters] = await Promise.all([clusterNodes(docker), nodes(isFresh)]);
    this.#record(all, adapters);
    return ownNodes(all, adapters);
  }

  async find(ref: ReleaseRef): Promise<SeenRelease | undefined> {
    const [services, nodes] = await Promise.all([this.#options.services.of(ref), this.#ownNodes()]);
    if (services.length === 0) return undefined;
    const ready = nodes.filter(({ isReady }) => isReady);
    const found = await Promise.all(
      ready.map(async ({ node }) => {
        const containers = await answered(this.#containersOn(node, ref));
        if (containers !== undefined)
          return { hasAnswered: true, containers, parts: containers.map(({ part }) => part) };
        const parts = await this.#partsByManager(node);
        return { hasAnswered: false, containers: [], parts: parts.filter(({ state }) => isSameRef(state, ref)) };
      }),
    );
    const isComplete = ready.length === nodes.length && found.every(({ hasAnswered }) => hasAnswered);
    const byPart = new Map(found.flatMap(({ containers }) => containers).map((one) => [one.part, one]));
    const containers = byAge([...byPart.keys()]).flatMap((part) => byPart.get(part) ?? []);
    const [state] = this.#statesOf(
      services,
      found.flatMap(({ parts }) => parts),
    );
    return state && { ref, services, containers, state, isComplete };
  }

  async list(): Promise<readonly ReleaseState[]> {
    const [services, nodes] = await Promise.all([this.#options.services.list(), this.readyNodes()]);
    const parts = await Promise.all(
      nodes.map(async ({ node }) => {
        const reported = await answered(this.#watchOf(node).listParts());
        return reported === undefined ? this.#partsByManager(node) : this.#assigned.of(node.id, reported);
      }),
    );
    return this.#statesOf(services, parts.flat());
  }

  lastSeen(): readonly ReleaseState[] | undefined {
    const parts = this.#lastParts();
    return this.#services && parts && this.#statesOf(this.#services, parts);
  }

  /** Whether it is a release of the swarm, as last looked up. */
  hasSeen(wanted: ReleaseRef): boolean {
    return this.#services?.some(({ ref }) => isSameRef(ref, wanted)) === true;
  }

  /** The container with this address, known without asking anybody. `undefined`: not known, or events may be missed. */
  runningAt(address: string): RunningTask | undefined {
    return this.#lastRunning(({ container }) => container.address === address)[0];
  }

  /** As `runningAt`, all of a release. `undefined` while events of any node may be missed. */
  runningOf(ref: ReleaseRef): readonly RunningTask[] | undefined {
    const { deploymentUuid } = ref;
    const isKnown = this.#lastParts() !== undefined && this.hasSeen(ref);
    return isKnown ? this.#lastRunning(({ state }) => state.deploymentUuid === deploymentUuid) : undefined;
  }

  #lastRunning(isMeant: (part: ReleasePart) => boolean): readonly RunningTask[] {
    return this.#readyWatches().flatMap(({ node, watch }) =>
      (this.#assigned.known(node.id, watch.lastParts() ?? []) ?? [])
        .filter((part) => part.container.state === "running" && isMeant(part))
        .map(({ id, container: { startedAt } }) => ({ id, startedAt, node })),
    );
  }

  /** Shows these replicas as leaving from now on: they get no requests, though they still run. */
  leave(ref: ReleaseRef, numbers: readonly number[]): void {
    this.#leaving.set(ref.deploymentUuid, new Set(numbers));
    this.#enqueue(() => this.#emitChange(ref));
  }

  /** Containers on a node that Berth cannot reach: the managers may, and clients too. */
  async #partsByManager({ id }: SwarmNode): Promise<readonly ReleasePart[]> {
    const tasks = await this.#options.services.tasksOn(id);
    return tasks.flatMap((task) => partOfTask(task, this.#options.instance) ?? []);
  }

  #statesOf(services: readonly FoundService[], parts: readonly ReleasePart[]): readonly ReleaseState[] {
    const byDeployment = Map.groupBy(parts, ({ state }) => state.deploymentUuid);
    const byRelease = Map.groupBy(services, ({ ref }) => ref.deploymentUuid);
    return [...byRelease].flatMap(([deploymentUuid, ofRelease]) => {
      const [first] = ofRelease;
      if (first === undefined) return [];
      const leaving = this.#leaving.get(deploymentUuid);
      const own = byDeployment.get(deploymentUuid) ?? [];
      const staying = own.filter(({ container }) => leaving?.has(container.number ?? 0) !== true);
      const state = clusterState(first.ref, ofRelease, staying, this.#restarts.of(deploymentUuid));
      const problem = placementProblem(state, ofRelease, this.#nodes.at(performance.now()));
      return problem === undefined ? state : { ...state, problem };
    });
  }

  /** Why tasks of a service cannot be placed by where its data is, as last looked up. */
  lostDataOf({ spec }: FoundService): string | undefined {
    return lostData(this.#nodes.newest, placementOf(spec));
  }

  #record(all: readonly ClusterNode[], adapters: readonly SwarmNode[]): void {
    this.#nodes.record(namedNodes(all, adapters), performance.now());
  }

  #lastParts(): readonly ReleasePart[] | undefined {
    const parts = this.#readyWatches().map(({ node, watch }) => {
      const reported = watch.lastParts();
      return reported && this.#assigned.known(node.id, reported);
    });
    return parts.some((one) => one === undefined) ? undefined : parts.flatMap((one) => one ?? []);
  }

  #readyWatches() {
    return [...this.#watches.values()].filter(({ node }) => this.#readyIds.has(node.id));
  }

  async #containersOn(node: SwarmNode, ref: ReleaseRef): Promise<readonly TaskContainer[]> {
    const seen = await this.#watchOf(node).findAll(ref);
    const found = new Map((seen?.containers ?? []).map((one) => [one.id, one]));
    const parts = [...found.values()].map(({ info }) => partOf(ref, info, undefined));
    return (await this.#assigned.of(node.id, parts)).flatMap((part) => {
      const one = found.get(part.id);
      if (one === undefined) return [];
      const { id, info, container } = one;
      return { id, info, container, node, owners: [ref.deploymentUuid], part };
    });
  }

  /** Asks about the containers that were reported since. */
  async #confirm(): Promise<void> {
    await Promise.all(
      this.#readyWatches().map(({ node, watch }) => this.#assigned.of(node.id, watch.lastParts() ?? [])),
    );
  }

  #watchOf(node: SwarmNode): ReleaseWatch {
    const known = this.#watches.get(node.id);
    if (known?.node.docker === node.docker) return known.watch;
    known?.watch.close();
    const { instance, resyncSeconds, warn } = this.#options;
    const watch = watchReleases({ docker: node.docker, instance, role: TASK_ROLE, resyncSeconds, warn });
    this.#watches.set(node.id, { node, watch });
    watch.onChange((state) => this.#enqueue(() => this.#emitChange(state)));
    // Until it is closed, with the watch of the cluster.
    watch.follow();
    return watch;
  }

  async #resync(signal: AbortSignal): Promise<void> {
    const { services, docker, onNodes } = this.#options;
    const [found, nodes, own] = await Promise.all([services.list(), clusterNodes(docker), this.#options.nodes()]);
    if (signal.aborted) return;
    this.#record(nodes, own);
    this.#readyIds = new Set(nodes.filter(({ isReady }) => isReady).map(({ id }) => id));
    this.awaitedNodes.keepOnly(new Set(nodes.filter(({ isReady }) => !isReady).map(({ id }) => id)));
    for (const node of own) if (this.#readyIds.has(node.id)) this.#watchOf(node);
    const gone = (this.#services ?? []).filter(({ ref }) => found.every((one) => !isSameRef(one.ref, ref)));
    this.#services = found;
    this.#isFailureReported = false;
    onNodes?.(nodes);
    for (const { node, watch } of this.#readyWatches()) {
      const reported = watch.lastParts();
      if (reported !== undefined) this.#assigned.keepOnly(node.id, reported);
    }
    await this.#confirm();
    const parts = this.#lastParts();
    if (parts === undefined) return;
    for (const state of this.#statesOf(found, parts)) this.#emit(state);
    for (const { ref } of gone) this.#emitGone(ref);
  }

  async #emitChange({ resourceUuid, deploymentUuid }: ReleaseRef): Promise<void> {
    const ref = { resourceUuid, deploymentUuid };
    const services = await this.#options.services.of(ref);
    if (services.length === 0) return this.#emitGone(ref);
    await this.#confirm();
    const parts = this.#lastParts();
    if (parts !== undefined) for (const state of this.#statesOf(services, parts)) this.#emit(state);
  }

  #emit(state: ReleaseState): void {
    const text = JSON.stringify(state);
    const before = this.#emitted.get(state.deploymentUuid);
    // Containers that are being made are not reported; their start is.
    if (text === before || (before === undefined && WAITING.has(state.state))) return;
    this.#emitted.set(state.deploymentUuid, text);
    this.#listeners.emit(state);
  }

  #emitGone({ resourceUuid, deploymentUuid }: ReleaseRef): void {
    this.#restarts.forget(deploymentUuid);
    this.#leaving.delete(deploymentUuid);
    if (!this.#emitted.delete(deploymentUuid)) return;
    const gone = { resourceUuid, deploymentUuid, restartCount: 0, exitCode: null, startedAt: null };
    this.#listeners.emit({ ...gone, state: "removing", upstream: null });
  }

  /** Never rejects. */
  #enqueue(next: () => Promise<void>): void {
    void this.#inTurn(next)
      .catch((cause: unknown) => {
        if (this.#closing.signal.aborted) return;
        this.#services = undefined;
        if (!this.#isFailureReported && !isServerAway(engineError("the manager", cause))) {
          this.#options.warn("The releases of a swarm could not be looked up.", cause);
        }
        this.#isFailureReported = true;
      })
      .finally(() => {
        for (const done of this.#waiting) done();
      });
  }
}

const isSameRef = (one: ReleaseRef, other: ReleaseRef): boolean => one.deploymentUuid === other.deploymentUuid;

const WAITING: ReadonlySet<string> = new Set(["created", "starting"]);
