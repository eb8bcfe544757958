import type { ReleaseContainer, ReleaseRef, ReleaseState } from "@berth/core/deploy";
import { type ReleaseRole, releaseFilter } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import pLimit from "p-limit";
import { refsOf } from "./compose/member.ts";
import { ContainerIndex, type IndexedContainer } from "./container-index.ts";
import { type ContainerQueries, containerQueries, type ListedContainer } from "./container-queries.ts";
import { type ContainerEvent, followEvents } from "./events.ts";
import { isSameState } from "./same-state.ts";
import { type DescribedContainer, inOrder, isCompound, partOf, type ReleasePart, releaseOf, UP } from "./state.ts";
import { type StateListeners, stateListeners } from "./state-listeners.ts";
import { whileUsed } from "./while-used.ts";

export interface ReleaseWatchOptions {
  readonly docker: Docker;
  readonly instance: string;
  /** Role of the releases' containers. Default: those that Berth itself makes. */
  readonly role?: ReleaseRole;
  /** Interval of full snapshots, which find changes without an event. */
  readonly resyncSeconds: number;
  readonly warn: (message: string, cause: unknown) => void;
}

/** Tracks the releases of one engine by its events, and by a new snapshot after a lost connection. */
export interface ReleaseWatch {
  /** Inspects the release now. `undefined`: no container of it exists. */
  find(ref: ReleaseRef): Promise<Seen | undefined>;
  /** As `find`, with containers that were just created and are not known from events yet. */
  findAll(ref: ReleaseRef): Promise<Seen | undefined>;
  /** Ids of the release's running containers: from events where none was missed, else inspected now. */
  runningIds(ref: ReleaseRef): Promise<readonly string[]>;
  list(): Promise<readonly ReleaseState[]>;
  /** The containers of all releases. */
  listParts(): Promise<readonly ReleasePart[]>;
  /** State known from events; `undefined` while events may be missed. */
  lastSeen(): readonly ReleaseState[] | undefined;
  /** As `lastSeen`, one by one. */
  lastParts(): readonly ReleasePart[] | undefined;
  onChange(listener: (state: ReleaseState) => void): () => void;
  /** Resolves at the next change of this release, on `signal`, or after a second. */
  changed(ref: ReleaseRef, signal: AbortSignal | undefined): Promise<void>;
  /** Follows the events until the returned function is called, and a while longer. */
  follow(): () => void;
  close(): void;
}

/** A release and its main container: of several, the one that receives requests, else the first. */
export interface Seen {
  readonly id: string;
  readonly info: ContainerInspectInfo;
  readonly state: ReleaseState;
  /** All containers, in the order of the compose file. */
  readonly containers: readonly SeenContainer[];
}

export interface SeenContainer {
  readonly id: string;
  readonly info: ContainerInspectInfo;
  readonly container: ReleaseContainer;
  /** Deployments of the releases that it belongs to, its original one first. */
  readonly owners: readonly string[];
}

export function watchReleases(options: ReleaseWatchOptions): ReleaseWatch {
  return new EngineWatch(options);
}

class EngineWatch implements ReleaseWatch {
  readonly #options: ReleaseWatchOptions;
  readonly #containers: ContainerQueries;
  readonly #index: ContainerIndex;
  readonly #listeners: StateListeners;
  readonly #closing = new AbortController();
  readonly #following = whileUsed({ begin: (signal) => this.#begin(signal), lingerSeconds: LINGER_SECONDS });
  /** Inspections are made one after the other, so that states are reported in order. */
  readonly #inTurn = pLimit(1);
  /** Whether the event stream is connected. */
  #isFollowed = false;
  /** Whether no event was missed since the last full snapshot. */
  #isComplete = false;
  /** What the engine's list said of each container at the last full snapshot. */
  #listings: ReadonlyMap<string, Listed> = new Map();
  /** Whether the list says enough of containers that have been running for long. */
  #isListTrusted = false;
  /** Whether a failed inspection was already reported; repeated failures are not. */
  #isFailureReported = false;
  /** Whether the loss of the event stream was already reported. */
  #isLossReported = false;
  /** Ends the pause before the event stream is connected again. */
  #reconnectNow = new AbortController();
  /** The next full snapshot while it has not begun, which all who ask meanwhile share. */
  #nextSnapshot: Promise<void> | undefined;
  /** The first attempt to connect the event stream, until it has an outcome. */
  #connecting: PromiseWithResolvers<void> | undefined;

  constructor(options: ReleaseWatchOptions) {
    this.#options = options;
    this.#containers = containerQueries(options);
    this.#index = new ContainerIndex(options.instance);
    this.#listeners = stateListeners(options.warn);
  }

  follow(): () => void {
    return this.#following.use();
  }

  #begin(signal: AbortSignal): void {
    const { docker, instance, role, resyncSeconds } = this.#options;
    const timer = setInterval(() => void this.#snapshot().catch(IGNORED), resyncSeconds * 1000).unref();
    this.#connecting = Promise.withResolvers();
    signal.addEventListener("abort", () => {
      clearInterval(timer);
      this.#onLost(undefined);
    });
    void followEvents({
      docker,
      filters: { ...releaseFilter(instance, {}, role) },
      signal,
      onEvent: (event) => this.#onEvent(event),
      onConnected: ({ isDocker }) => this.#onConnected(isDocker),
      onLost: (cause) => this.#onLost(cause),
      hurried: () => {
        this.#reconnectNow = new AbortController();
        return this.#reconnectNow.signal;
      },
    });
  }

  close(): void {
    this.#closing.abort();
    this.#following.close();
    this.#listeners.clear();
  }

  lastSeen(): readonly ReleaseState[] | undefined {
    const parts = this.lastParts();
    return parts && releasesOf(parts);
  }

  lastParts(): readonly ReleasePart[] | undefined {
    return this.#isComplete ? this.#index.parts() : undefined;
  }

  onChange(listener: (state: ReleaseState) => void): () => void {
    return this.#listeners.add(listener);
  }

  changed(ref: ReleaseRef, signal: AbortSignal | undefined): Promise<void> {
    return this.#listeners.changed(ref, signal);
  }

  async list(): Promise<readonly ReleaseState[]> {
    return releasesOf(await this.listParts());
  }

  async listParts(): Promise<readonly ReleasePart[]> {
    if (!this.#isComplete && (await this.#complete())) return this.#index.parts();
    const found = await this.#containers.list();
    // The engine answers, so its events can be had again.
    if (!this.#isFollowed) this.#reconnectNow.abort();
    const parts = await pLimit(INSPECTED_AT_ONCE).map(found, (container) => this.#partsOf(container));
    return parts.flat();
  }

  /**
   * Makes a full snapshot if events are followed, which several callers share: without one, each of them would inspect
   * every container, and the snapshot too.
   * @returns Whether no event was missed since.
   */
  async #complete(): Promise<boolean> {
    await this.#connected();
    if (this.#isFollowed) await this.#snapshot();
    return this.#isComplete;
  }

  /** Waits for the first attempt to connect the event stream. */
  async #connected(): Promise<void> {
    if (this.#connecting === undefined) return;
    const { promise, resolve } = this.#connecting;
    // The time counts from an answer: where a thousand engines are asked at once, each answer takes seconds. The next
    // request reports an engine that hangs or refuses.
    const giveUp = () => void setTimeout(resolve, CONNECT_MS_MAX).unref();
    this.#options.docker.ping().then(giveUp, resolve);
    await promise;
  }

  async #partsOf({ id, refs, coarse }: ListedContainer): Promise<readonly ReleasePart[]> {
    const before = this.#index.get(id)?.parts ?? [];
    const isKnown = before.length === refs.length && before.every(({ state }) => state.state === coarse);
    if (this.#isComplete && isKnown && isSameRefs(before, refs)) return before;
    const info = await this.#containers.inspect(id);
    return info === undefined ? [] : refs.map((ref) => partOf(ref, info, this.#index.get(id)?.exitCode));
  }

  async find(ref: ReleaseRef): Promise<Seen | undefined> {
    return await this.#inspectAll(ref, await this.#idsOf(ref));
  }

  async runningIds(ref: ReleaseRef): Promise<readonly string[]> {
    const known =
      this.#isComplete || (await this.#complete())
        ? this.#index.partsOf(ref).filter((part) => part.state.resourceUuid === ref.resourceUuid)
        : [];
    if (known.length > 0) return known.flatMap(({ id, state }) => (UP.has(state.state) ? id : []));
    const seen = await this.find(ref);
    if (seen === undefined || !UP.has(seen.state.state)) return [];
    return seen.containers.length === 0 ? [seen.id] : seen.containers.map(({ id }) => id);
  }

  async findAll(ref: ReleaseRef): Promise<Seen | undefined> {
    return await this.#inspectAll(ref, await this.#containers.idsOf(ref));
  }

  async #inspectAll(ref: ReleaseRef, ids: readonly string[]): Promise<Seen | undefined> {
    const infos = await Promise.all(ids.map((id) => this.#containers.inspect(id)));
    const found = infos.flatMap((info, at) => {
      const id = ids[at] ?? "";
      const refs = refsOf(info?.Config.Labels, info?.Name, this.#options.instance);
      const own = refs.find(({ deploymentUuid }) => deploymentUuid === ref.deploymentUuid);
      const owners = refs.map(({ deploymentUuid }) => deploymentUuid);
      if (info !== undefined && own !== undefined) return [{ id, info, own, owners }];
      this.#index.detach(ref, id);
      return [];
    });
    // The cached ids are outdated.
    if (found.length === 0) return ids.length === 0 ? undefined : this.#findAnew(ref, ids);
    for (const { id, own } of found) this.#index.attach(own, id);
    if (found.some(({ own }) => own.resourceUuid !== ref.resourceUuid)) return undefined;
    const parts = found.map((one) => ({ ...one, part: partOf(one.own, one.info, this.#index.get(one.id)?.exitCode) }));
    return seenOf(inOrder(parts));
  }

  async #findAnew(ref: ReleaseRef, tried: readonly string[]): Promise<Seen | undefined> {
    const now = await this.#containers.idsOf(ref);
    return now.some((id) => !tried.includes(id)) ? await this.find(ref) : undefined;
  }

  /** Ids of a release's containers, including those added since the last snapshot. */
  async #idsOf(ref: ReleaseRef): Promise<readonly string[]> {
    const ids = this.#index.idsOf(ref);
    const isAlone = ids.length === 1 && ids.every((id) => this.#index.get(id)?.parts[0]?.isMember !== true);
    return isAlone ? ids : await this.#containers.idsOf(ref);
  }

  #onConnected(isDocker: boolean): void {
    this.#isFollowed = true;
    this.#isListTrusted = isDocker && this.#options.role === undefined;
    this.#isLossReported = false;
    void this.#snapshot().catch(IGNORED);
    this.#endConnecting();
  }

  #endConnecting(): void {
    this.#connecting?.resolve();
    this.#connecting = undefined;
  }

  #onLost(cause: unknown): void {
    this.#isFollowed = false;
    this.#isComplete = false;
    this.#endConnecting();
    if (cause === undefined || this.#isLossReported) return;
    this.#isLossReported = true;
    this.#options.warn("The events of an engine broke off; they are followed again.", cause);
  }

  #onEvent({ action, containerId, attributes }: ContainerEvent): void {
    const refs = refsOf(attributes, attributes.name, this.#options.instance);
    if (refs.length === 0 || !RELEVANT.has(action)) return;
    // Too many pending inspections: drop the event, and let the next full snapshot find the changes.
    if (this.#inTurn.pendingCount > PENDING_MAX) {
      this.#isComplete = false;
      return;
    }
    const exitCode = action === "die" ? Number(attributes.exitCode) : undefined;
    void this.#enqueue(async () => {
      if (action === "destroy") this.#forget(containerId);
      else await this.#update(containerId, refs, exitCode);
    }).catch(IGNORED);
  }

  /** Reports a failure, whether or not the caller does. */
  async #enqueue(next: () => Promise<void>): Promise<void> {
    try {
      await this.#inTurn(next);
    } catch (cause) {
      if (this.#closing.signal.aborted) throw cause;
      if (!this.#isFailureReported) this.#options.warn("The releases of an engine could not be inspected.", cause);
      this.#isComplete = false;
      this.#isFailureReported = true;
      throw cause;
    }
  }

  /** A full snapshot that begins after this call. */
  #snapshot(): Promise<void> {
    this.#nextSnapshot ??= this.#enqueue(() => {
      this.#nextSnapshot = undefined;
      return this.#resync();
    });
    return this.#nextSnapshot;
  }

  async #resync(): Promise<void> {
    const wasFollowed = this.#isFollowed;
    const found = await this.#containers.list();
    const listings = new Map<string, Listed>();
    const unknown = found.filter(({ id, listing, described }, at) => {
      // Where events were missed, the list does not show all that has changed.
      const before = this.#isComplete ? this.#listings.get(id) : undefined;
      const isKnown = this.#index.get(id) !== undefined;
      // Of a server that is taken in, the list says most. Its containers are inspected little by little.
      if (!isKnown && !this.#isComplete && this.#isListTrusted && described !== undefined) {
        this.#record(id, described);
        listings.set(id, { listing, snapshots: at % INSPECT_EVERY });
        return false;
      }
      const snapshots = (before?.snapshots ?? 0) + 1;
      const isDue = !isKnown || before?.listing !== listing || snapshots >= INSPECT_EVERY;
      listings.set(id, { listing, snapshots: isDue ? 0 : snapshots });
      return isDue;
    });
    await this.#updateAll(unknown);
    this.#listings = listings;
    const ids = new Set(found.map(({ id }) => id));
    for (const id of this.#index.ids()) if (!ids.has(id)) this.#forget(id);
    this.#isComplete = wasFollowed && this.#isFollowed;
    this.#isFailureReported = false;
  }

  /** Ends only when no inspection is under way: a late answer would overwrite what an event reported since. */
  async #updateAll(containers: readonly ListedContainer[]): Promise<void> {
    const failures: unknown[] = [];
    await pLimit(INSPECTED_AT_ONCE).map(containers, async ({ id, refs }) => {
      if (failures.length > 0) return;
      await this.#update(id, refs).catch((cause: unknown) => failures.push(cause));
    });
    if (failures.length > 0) throw failures[0];
  }

  /**
   * Inspects a container and reports changes.
   * @param refs The releases that it is known to belong to.
   * @param exitCode Of an exit that an event reported.
   */
  async #update(id: string, refs: readonly ReleaseRef[], exitCode?: number): Promise<void> {
    const info = await this.#containers.inspect(id);
    if (info === undefined) this.#forget(id);
    else this.#record(id, info, refs, exitCode);
  }

  /** Reports what changed. Awaits nothing: several containers of a release may be inspected at once. */
  #record(id: string, info: DescribedContainer, refs: readonly ReleaseRef[] = [], exitCode?: number): void {
    const index = this.#index;
    const before = index.get(id);
    const concerned = new Map([...(before?.parts ?? []).map(({ state }) => state), ...refs].map(keyed));
    const wholes = new Map([...concerned].map(([key, ref]) => [key, index.releaseOf(ref)]));
    if (exitCode !== undefined) index.setExitCode(id, exitCode);
    for (const { state } of index.put(id, info)) {
      this.#emitChange(state, wholes.get(state.deploymentUuid), before, exitCode !== undefined);
      concerned.delete(state.deploymentUuid);
    }
    // Releases that the container no longer belongs to.
    for (const ref of concerned.values()) {
      const whole = index.releaseOf(ref);
      if (whole !== undefined && !isSameState(whole, wholes.get(ref.deploymentUuid))) this.#listeners.emit(whole);
    }
  }

  #emitChange(
    state: ReleaseState,
    wholeBefore: ReleaseState | undefined,
    before: IndexedContainer | undefined,
    hasExited: boolean,
  ): void {
    const whole = this.#index.releaseOf(state) ?? state;
    // It already runs again, but its exit is still reported.
    const isMissed = state.state === "running" && hasExited && before?.parts[0]?.state.state === "running";
    if (isMissed) this.#listeners.emit({ ...whole, state: "restarting", upstream: null });
    // Created containers are not reported; their start is.
    if (wholeBefore === undefined && whole.state === "created") return;
    if (isMissed || !isSameState(whole, wholeBefore)) this.#listeners.emit(whole);
  }

  #forget(id: string): void {
    const index = this.#index;
    for (const part of index.get(id)?.parts ?? []) {
      const { state } = part;
      // A concurrent lookup may already have removed it.
      const wholeBefore = index.releaseOf(state) ?? releaseOf([part]);
      index.detach(state, id);
      if (wholeBefore === undefined) continue;
      this.#listeners.emit(index.releaseOf(state) ?? { ...wholeBefore, state: "removing", upstream: null });
    }
    index.delete(id);
  }
}

function releasesOf(parts: readonly ReleasePart[]): readonly ReleaseState[] {
  const byDeployment = Map.groupBy(parts, ({ state }) => state.deploymentUuid);
  return [...byDeployment.values()].flatMap((ofOne) => releaseOf(ofOne) ?? []);
}

interface FoundPart {
  readonly id: string;
  readonly info: ContainerInspectInfo;
  readonly part: ReleasePart;
  readonly owners: readonly string[];
}

function seenOf(parts: readonly FoundPart[]): Seen | undefined {
  const state = releaseOf(parts.map(({ part }) => part));
  const isWhole = isCompound(parts.map(({ part }) => part));
  const members = isWhole
    ? parts.map(({ id, info, part, owners }) => ({ id, info, owners, container: part.container }))
    : [];
  const counted = members.filter(({ container }) => !container.isExcluded);
  const main = counted.find(({ container }) => container.port !== null) ?? counted[0] ?? parts[0];
  return state && main && { id: main.id, info: main.info, state, containers: members };
}

/** A thousand servers may all be listed at once, and each call in flight costs some 20 KB of memory. */
const INSPECTED_AT_ONCE = 4;

/** An engine that answers other calls connects its event stream soon, also over SSH. */
const CONNECT_MS_MAX = 2000;

/** Of work whose failure was reported. */
const IGNORED = () => undefined;

const PENDING_MAX = 1000;
interface Listed {
  readonly listing: string;
  /** Full snapshots since it was inspected. */
  readonly snapshots: number;
}

/** Of the snapshots while events are followed, since an engine drops events that it cannot send. */
const INSPECT_EVERY = 10;
/** Longer than the pause between two calls of somebody who works with a release. */
export const LINGER_SECONDS = 60;
/** Actions that change the state of a release. */
const RELEVANT: ReadonlySet<string> = new Set([
  ...["start", "die", "destroy", "pause", "unpause", "rename", "health_status", "oom"],
]);

const keyed = (ref: ReleaseRef): readonly [string, ReleaseRef] => [ref.deploymentUuid, ref];

const isSameRefs = (parts: readonly ReleasePart[], refs: readonly ReleaseRef[]): boolean =>
  parts.every(({ state }, at) => state.deploymentUuid === refs[at]?.deploymentUuid);
