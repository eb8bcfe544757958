import type { ReleaseContainer, ReleaseRef, ReleaseState } from "@berth/core/deploy";
import { releaseFilter, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import pLimit from "p-limit";
import { refsOf } from "./compose/member.ts";
import { ContainerIndex, type IndexedContainer } from "./container-index.ts";
import { type ContainerEvent, followEvents } from "./events.ts";
import { inOrder, type Part, partOf, releaseOf } from "./state.ts";
import { stateListeners } from "./state-listeners.ts";

export interface ReleaseWatchOptions {
  readonly docker: Docker;
  readonly instance: string;
  /** Interval of full snapshots, which find changes without an event. */
  readonly resyncSeconds: number;
  readonly warn: (message: string, cause: unknown) => void;
}

/** Tracks the releases of one engine by its events, and by a new snapshot after a lost connection. */
export interface ReleaseWatch {
  /** Inspects the release now. `undefined`: no container of it exists. */
  find(ref: ReleaseRef): Promise<Seen | undefined>;
  list(): Promise<readonly ReleaseState[]>;
  /** State known from events; `undefined` while events may be missed. */
  lastSeen(): readonly ReleaseState[] | undefined;
  onChange(listener: (state: ReleaseState) => void): () => void;
  /** Resolves at the next change of this release, on `signal`, or after a second. */
  changed(ref: ReleaseRef, signal: AbortSignal | undefined): Promise<void>;
  start(): void;
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

export function watchReleases({ docker, instance, resyncSeconds, warn }: ReleaseWatchOptions): ReleaseWatch {
  const index = new ContainerIndex(instance);
  const listeners = stateListeners(warn);
  const { emit } = listeners;
  const closing = new AbortController();
  /** Whether the event stream is connected. */
  let isFollowed = false;
  /** Whether no event was missed since the last full snapshot. */
  let isConnected = false;
  let isStarted = false;
  /** Whether a failure was already reported; repeated failures are not. */
  let isWarned = false;
  /** So was the loss of its events. */
  let isLossTold = false;
  let hurry = new AbortController();
  const inTurn = pLimit(1);

  /** Serialised, so that states are reported in order. */
  function enqueue(next: () => Promise<void>): Promise<void> {
    return inTurn(next).catch((cause: unknown) => {
      if (closing.signal.aborted) return;
      if (!isWarned) warn("The releases of an engine could not be inspected.", cause);
      isConnected = false;
      isWarned = true;
    });
  }

  async function inspect(id: string): Promise<ContainerInspectInfo | undefined> {
    try {
      return await docker.getContainer(id).inspect();
    } catch (cause) {
      if (statusCodeOf(cause) === 404) return undefined;
      throw cause;
    }
  }

  /** Inspects a container and reports changes. @param refs The releases that it is known to belong to. */
  async function look(id: string, refs: readonly ReleaseRef[], died?: number): Promise<void> {
    const before = index.get(id);
    const concerned = new Map([...(before?.parts ?? []).map(({ state }) => state), ...refs].map(keyed));
    const wholes = new Map([...concerned].map(([key, ref]) => [key, index.releaseOf(ref)]));
    if (died !== undefined) index.setExitCode(id, died);
    const info = await inspect(id);
    if (info === undefined) return forget(id);
    for (const { state } of index.put(id, info)) {
      emitChange(state, wholes.get(state.deploymentUuid), before, died);
      concerned.delete(state.deploymentUuid);
    }
    // Releases that the container no longer belongs to.
    for (const ref of concerned.values()) {
      const whole = index.releaseOf(ref);
      if (whole !== undefined && !isSame(whole, wholes.get(ref.deploymentUuid))) emit(whole);
    }
  }

  function emitChange(
    state: ReleaseState,
    wholeBefore: ReleaseState | undefined,
    before: IndexedContainer | undefined,
    died: number | undefined,
  ): void {
    const whole = index.releaseOf(state) ?? state;
    const wasRunning = before?.parts[0]?.state.state === "running";
    // It already runs again, but its exit is still reported.
    const isMissed = state.state === "running" && died !== undefined && wasRunning;
    if (isMissed) emit({ ...whole, state: "restarting", upstream: null });
    // Created containers are not reported; their start is.
    if (wholeBefore === undefined && whole.state === "created") return;
    if (isMissed || !isSame(whole, wholeBefore)) emit(whole);
  }

  function forget(id: string): void {
    for (const part of index.get(id)?.parts ?? []) {
      const { state } = part;
      // A concurrent lookup may already have removed it.
      const wholeBefore = index.releaseOf(state) ?? releaseOf([part]);
      index.detach(state, id);
      if (wholeBefore !== undefined)
        emit(index.releaseOf(state) ?? { ...wholeBefore, state: "removing", upstream: null });
    }
    index.delete(id);
  }

  function onEvent({ action, containerId, attributes }: ContainerEvent): void {
    const refs = refsOf(attributes, attributes.name, instance);
    if (refs.length === 0 || !RELEVANT.has(action)) return;
    // Too many pending inspections: drop the event, and let the next full snapshot find the changes.
    if (inTurn.pendingCount > LOOKS_MAX) {
      isConnected = false;
      return;
    }
    if (action === "destroy") return void enqueue(async () => forget(containerId));
    const died = action === "die" ? Number(attributes.exitCode) : undefined;
    void enqueue(() => look(containerId, refs, died));
  }

  async function resync(): Promise<void> {
    const wasFollowed = isFollowed;
    const found = await listContainers();
    for (const { id, refs } of found) await look(id, refs);
    const ids = new Set(found.map(({ id }) => id));
    for (const id of index.ids()) if (!ids.has(id)) forget(id);
    isConnected = wasFollowed && isFollowed;
    isWarned = false;
  }

  async function listContainers(ref: Partial<ReleaseRef> = {}) {
    const filters = { ...releaseFilter(instance, ref) };
    const containers = await docker.listContainers({ all: true, filters });
    return containers.flatMap(({ Id, Labels, Names, State }) => {
      // The other names, from links, contain a second slash.
      const refs = refsOf(
        Labels,
        Names.find((name) => name.lastIndexOf("/") === 0),
        instance,
      );
      return refs.length === 0 ? [] : [{ id: Id, refs, coarse: State }];
    });
  }

  /** Ids of a release's containers, including those added since the last snapshot. */
  async function idsNow(ref: ReleaseRef): Promise<readonly string[]> {
    const ids = index.idsOf(ref);
    const isAlone = ids.length === 1 && ids.every((id) => index.get(id)?.parts[0]?.member === undefined);
    return isAlone ? ids : await listIds(ref);
  }

  /**
   * All containers of the resource are listed: a container taken over from the previous release keeps its old labels.
   */
  async function listIds({ resourceUuid, deploymentUuid }: ReleaseRef): Promise<readonly string[]> {
    const found = await listContainers({ resourceUuid });
    return found.flatMap(({ id, refs }) => (refs.some((ref) => ref.deploymentUuid === deploymentUuid) ? id : []));
  }

  async function find(ref: ReleaseRef): Promise<Seen | undefined> {
    const ids = await idsNow(ref);
    const infos = await Promise.all(ids.map(inspect));
    const found = infos.flatMap((info, at) => {
      const id = ids[at] ?? "";
      const refs = refsOf(info?.Config.Labels, info?.Name, instance);
      const own = refs.find(({ deploymentUuid }) => deploymentUuid === ref.deploymentUuid);
      const owners = refs.map(({ deploymentUuid }) => deploymentUuid);
      if (info !== undefined && own !== undefined) return [{ id, info, own, owners }];
      index.detach(ref, id);
      return [];
    });
    // The cached ids are outdated.
    if (found.length === 0) return ids.length === 0 ? undefined : findAnew(ref, ids);
    for (const { id, own } of found) index.attach(own, id);
    if (found.some(({ own }) => own.resourceUuid !== ref.resourceUuid)) return undefined;
    const parts = found.map((one) => ({ ...one, part: partOf(one.own, one.info, index.get(one.id)?.exitCode) }));
    return seenOf(inOrder(parts));
  }

  async function findAnew(ref: ReleaseRef, tried: readonly string[]): Promise<Seen | undefined> {
    const now = await listIds(ref);
    return now.some((id) => !tried.includes(id)) ? await find(ref) : undefined;
  }

  const timer = setInterval(() => void enqueue(resync), resyncSeconds * 1000).unref();

  return {
    find,
    async list() {
      const found = await listContainers();
      if (!isFollowed) hurry.abort();
      const parts = await Promise.all(
        found.map(async ({ id, refs, coarse }) => {
          const before = index.get(id)?.parts ?? [];
          const isKnown = before.length === refs.length && before.every(({ state }) => state.state === coarse);
          if (isConnected && isKnown && isSameRefs(before, refs)) return before;
          const info = await inspect(id);
          return info === undefined ? [] : refs.map((ref) => partOf(ref, info, index.get(id)?.exitCode));
        }),
      );
      return releasesOf(parts.flat());
    },
    lastSeen: () => (isConnected ? releasesOf(index.parts()) : undefined),
    onChange: listeners.add,
    changed: listeners.changed,
    start() {
      if (isStarted) return;
      isStarted = true;
      const { signal } = closing;
      void followEvents({
        docker,
        filters: { ...releaseFilter(instance) },
        signal,
        onEvent,
        onConnected: () => {
          isFollowed = true;
          isLossTold = false;
          void enqueue(resync);
        },
        onLost: (cause) => {
          isFollowed = false;
          isConnected = false;
          if (cause === undefined || isLossTold) return;
          isLossTold = true;
          warn("The events of an engine broke off; they are followed again.", cause);
        },
        hurried: () => {
          hurry = new AbortController();
          return hurry.signal;
        },
      });
    },
    close() {
      closing.abort();
      clearInterval(timer);
      listeners.clear();
    },
  };
}

function releasesOf(parts: readonly Part[]): readonly ReleaseState[] {
  const byDeployment = Map.groupBy(parts, ({ state }) => state.deploymentUuid);
  return [...byDeployment.values()].flatMap((ofOne) => releaseOf(ofOne) ?? []);
}

interface FoundPart {
  readonly id: string;
  readonly info: ContainerInspectInfo;
  readonly part: Part;
  readonly owners: readonly string[];
}

function seenOf(parts: readonly FoundPart[]): Seen | undefined {
  const state = releaseOf(parts.map(({ part }) => part));
  const members = parts.flatMap(({ id, info, part, owners }) =>
    part.member === undefined ? [] : [{ id, info, owners, container: part.member.container }],
  );
  const counted = members.filter(({ container }) => !container.isExcluded);
  const main = counted.find(({ container }) => container.port !== null) ?? counted[0] ?? parts[0];
  return state && main && { id: main.id, info: main.info, state, containers: members };
}

/** Actions that change the state of a release. */
const LOOKS_MAX = 1000;
const RELEVANT: ReadonlySet<string> = new Set([
  ...["start", "die", "destroy", "pause", "unpause", "rename", "health_status", "oom"],
]);

const isSame = (one: ReleaseState, other: ReleaseState | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const keyed = (ref: ReleaseRef): readonly [string, ReleaseRef] => [ref.deploymentUuid, ref];

const isSameRefs = (parts: readonly Part[], refs: readonly ReleaseRef[]): boolean =>
  parts.every(({ state }, at) => state.deploymentUuid === refs[at]?.deploymentUuid);
