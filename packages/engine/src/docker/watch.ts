import type { ReleaseRef, ReleaseState } from "@berth/core";
import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import { statusCodeOf } from "./client.ts";
import { type ContainerEvent, followEvents } from "./events.ts";
import { refOf, releaseFilter } from "./labels.ts";
import { hasEnded, stateOf } from "./state.ts";

export interface ReleaseWatchOptions {
  readonly docker: Docker;
  readonly instance: string;
  /** How often everything is looked at anew, for what no event told. */
  readonly resyncSeconds: number;
  readonly warn: (message: string, cause: unknown) => void;
}

/** Knows the releases of one engine: by its events, and by looking again after a lost connection. */
export interface ReleaseWatch {
  /** Looks now. `undefined`: no such release. */
  find(ref: ReleaseRef): Promise<Seen | undefined>;
  list(): Promise<readonly ReleaseState[]>;
  /** What is known without asking; `undefined` while events may be missed. */
  lastSeen(): readonly ReleaseState[] | undefined;
  onChange(listener: (state: ReleaseState) => void): () => void;
  /** Resolves with the next change of this release, on `signal`, or after a second. */
  changed(ref: ReleaseRef, signal: AbortSignal | undefined): Promise<void>;
  start(): void;
  close(): void;
}

/** A release and the container that it runs in. */
export interface Seen {
  readonly id: string;
  readonly info: ContainerInspectInfo;
  readonly state: ReleaseState;
}

interface Known {
  readonly state: ReleaseState;
  readonly exitCode: number | undefined;
}

export function watchReleases({ docker, instance, resyncSeconds, warn }: ReleaseWatchOptions): ReleaseWatch {
  const known = new Map<string, Known>();
  const idOf = new Map<string, string>();
  const listeners = new Set<(state: ReleaseState) => void>();
  const closing = new AbortController();
  /** The engine tells its events. */
  let isFollowed = false;
  /** Nothing was missed since everything was looked at. */
  let isConnected = false;
  let isStarted = false;
  /** That it cannot be looked at is told once. */
  let isWarned = false;
  let work: Promise<void> = Promise.resolve();

  function emit(state: ReleaseState): void {
    for (const listener of listeners) {
      try {
        listener(state);
      } catch (cause) {
        warn("A listener to changes of releases failed.", cause);
      }
    }
  }

  /** One after the other, so that nothing older is told after what is newer. */
  function enqueue(next: () => Promise<void>): Promise<void> {
    work = work.then(next).catch((cause: unknown) => {
      if (closing.signal.aborted) return;
      if (!isWarned) warn("The releases of an engine could not be looked at.", cause);
      isConnected = false;
      isWarned = true;
    });
    return work;
  }

  function see(id: string, ref: ReleaseRef, info: ContainerInspectInfo): ReleaseState {
    const before = known.get(id);
    const exitCode = hasEnded(info.State.Status) ? info.State.ExitCode : before?.exitCode;
    const state = stateOf(ref, info, exitCode);
    known.set(id, { state, exitCode });
    idOf.set(ref.deploymentUuid, id);
    return state;
  }

  async function inspect(id: string): Promise<ContainerInspectInfo | undefined> {
    try {
      return await docker.getContainer(id).inspect();
    } catch (cause) {
      if (statusCodeOf(cause) === 404) return undefined;
      throw cause;
    }
  }

  /** Looks at a container and tells of what has changed. */
  async function look(id: string, ref: ReleaseRef, died?: number): Promise<void> {
    const before = known.get(id);
    if (died !== undefined && before !== undefined) known.set(id, { ...before, exitCode: died });
    const info = await inspect(id);
    if (info === undefined) return forget(id, ref);
    const state = see(id, ref, info);
    // It runs again already: that it had ended is told nevertheless.
    const isMissed = state.state === "running" && died !== undefined && before?.state.state === "running";
    if (isMissed) emit({ ...state, state: "restarting", upstream: null });
    // Being made is no change of a release yet: its start is.
    if (before === undefined && state.state === "created") return;
    if (isMissed || !isSame(state, before?.state)) emit(state);
  }

  function forget(id: string, ref: ReleaseRef): void {
    const before = known.get(id);
    known.delete(id);
    if (idOf.get(ref.deploymentUuid) === id) idOf.delete(ref.deploymentUuid);
    if (before !== undefined) emit({ ...before.state, state: "removing", upstream: null });
  }

  function onEvent({ action, containerId, attributes }: ContainerEvent): void {
    const ref = refOf(attributes, instance);
    if (ref === undefined || !TELLING.has(action)) return;
    if (action === "destroy") return void enqueue(async () => forget(containerId, ref));
    const died = action === "die" ? Number(attributes.exitCode) : undefined;
    void enqueue(() => look(containerId, ref, died));
  }

  async function resync(): Promise<void> {
    const wasFollowed = isFollowed;
    const found = await listContainers();
    for (const { id, ref } of found) await look(id, ref);
    const ids = new Set(found.map(({ id }) => id));
    for (const [id, { state }] of known) if (!ids.has(id)) forget(id, state);
    isConnected = wasFollowed && isFollowed;
    isWarned = false;
  }

  async function listContainers(ref: Partial<ReleaseRef> = {}) {
    const filters = { ...releaseFilter(instance, ref) };
    const containers = await docker.listContainers({ all: true, filters });
    return containers.flatMap(({ Id, Labels, State }) => {
      const own = refOf(Labels, instance);
      return own === undefined ? [] : [{ id: Id, ref: own, coarse: State }];
    });
  }

  async function find(ref: ReleaseRef): Promise<Seen | undefined> {
    const id = idOf.get(ref.deploymentUuid) ?? (await listContainers(ref)).at(0)?.id;
    if (id === undefined) return undefined;
    const info = await inspect(id);
    const own = refOf(info?.Config.Labels, instance);
    if (info === undefined || own?.deploymentUuid !== ref.deploymentUuid) {
      if (idOf.get(ref.deploymentUuid) !== id) return undefined;
      idOf.delete(ref.deploymentUuid);
      return find(ref);
    }
    const state = stateOf(own, info, known.get(id)?.exitCode);
    idOf.set(ref.deploymentUuid, id);
    return own.resourceUuid === ref.resourceUuid ? { id, info, state } : undefined;
  }

  const timer = setInterval(() => void enqueue(resync), resyncSeconds * 1000).unref();

  return {
    find,
    async list() {
      const found = await listContainers();
      const states = await Promise.all(
        found.map(async ({ id, ref, coarse }) => {
          const before = known.get(id)?.state;
          if (isConnected && before?.state === coarse) return before;
          const info = await inspect(id);
          return info && stateOf(ref, info, known.get(id)?.exitCode);
        }),
      );
      return states.filter((state) => state !== undefined);
    },
    lastSeen: () => (isConnected ? [...known.values()].map(({ state }) => state) : undefined),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    changed: ({ deploymentUuid }, signal) =>
      new Promise((resolve) => {
        const done = () => {
          clearTimeout(wait);
          listeners.delete(hear);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const hear = (state: ReleaseState) => state.deploymentUuid === deploymentUuid && done();
        const wait = setTimeout(done, CHANGED_MS);
        listeners.add(hear);
        signal?.addEventListener("abort", done, { once: true });
        if (signal?.aborted) done();
      }),
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
          void enqueue(resync);
        },
        onLost: (cause) => {
          isFollowed = false;
          isConnected = false;
          if (cause !== undefined) warn("The events of an engine broke off; they are followed again.", cause);
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

/** All that changes what is seen of a release. */
const TELLING: ReadonlySet<string> = new Set([
  ...["start", "die", "destroy", "pause", "unpause", "rename", "health_status", "oom"],
]);

const isSame = (one: ReleaseState, other: ReleaseState | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const CHANGED_MS = 1000;
