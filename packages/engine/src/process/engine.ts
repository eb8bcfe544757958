import { dirname, join } from "node:path";
import { DomainError, isDomainError, notFound } from "@berth/core";
import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import type { Engine, EngineCapabilities } from "@berth/core/ports";
import type { InWorkplace, ProcessBuilder } from "../builder/build-place.ts";
import { buildRelease } from "./build.ts";
import { type Cgroups, findCgroups } from "./cgroup.ts";
import { executeIn } from "./exec.ts";
import { readLogLines } from "./log-lines.ts";
import { listeningPorts } from "./network.ts";
import { runPaths } from "./paths.ts";
import { NEW_RECORD } from "./record.ts";
import { endLeftovers, removeResourceFolders, removeVolumeFolders } from "./release-folders.ts";
import { openEngine } from "./running-engine.ts";
import { PROCESS_SETTINGS, type ProcessSettings } from "./settings.ts";
import { SupervisedRelease } from "./supervisor.ts";
import { usageOf } from "./usage.ts";
import { inWorkplace } from "./workplace.ts";

export interface ProcessEngineOptions {
  /** Data of all applications. Other users must be able to pass through the folders above it. */
  readonly dataFolder: string;
  /** Folder for Node and npm. Default: `runtime` beside `dataFolder`. */
  readonly runtimeFolder?: string;
  /** Applications cannot see this folder except their own part of it. Default: `dataFolder`. */
  readonly instanceFolder?: string;
  /** The machine's folder of user id ranges in use by instances. Without it, ranges start at `settings.uidBase`. */
  readonly userRanges?: string;
  readonly builder: ProcessBuilder;
  /** Build packs that `builder` supports. */
  readonly buildPacks?: readonly string[];
  readonly settings?: Partial<ProcessSettings>;
  /** Where cgroups are mounted. Default: `/sys/fs/cgroup`. */
  readonly cgroupRoot?: string;
  /** Receives failures of background work. */
  readonly warn?: (message: string, cause: unknown) => void;
}

/** Runs applications as supervised processes on this machine, without containers. */
export interface ProcessEngine extends Engine {
  /**
   * Takes over the releases of an earlier engine: running ones continue and are never started twice; ended ones are
   * `exited` until they are started. Every other call does this first, so it need not be called.
   * @throws DomainError `setup.failed`
   */
  open(): Promise<void>;
  /** For programs that Berth itself runs over a source, whatever engine the source is built for. */
  readonly inWorkplace: InWorkplace;
  /**
   * Closes the engine, which cannot be used afterwards. Releases are stopped, all at the same time, or continue
   * running until another engine takes them over.
   */
  close(options: { readonly stopReleases: boolean; readonly graceSeconds?: number }): Promise<void>;
}

const STOP_GRACE_SECONDS = 10; // Docker's own default for "docker stop".

export function processEngine(options: ProcessEngineOptions): ProcessEngine {
  const { dataFolder, builder, userRanges, warn = () => {} } = options;
  const runtimeFolder = options.runtimeFolder ?? join(dirname(dataFolder), "runtime");
  const instanceFolder = options.instanceFolder ?? dataFolder;
  const settings: ProcessSettings = { ...PROCESS_SETTINGS, ...options.settings };
  const cgroups = findCgroups(options.cgroupRoot);
  const listeners = new Set<(state: ReleaseState) => void>();
  let opening: ReturnType<typeof openEngine> | undefined;
  let isClosed = false;

  function emit(state: ReleaseState): void {
    for (const listener of listeners) {
      try {
        listener(state);
      } catch (cause) {
        warn("A listener to changes of releases failed.", cause);
      }
    }
  }

  async function opened() {
    if (isClosed)
      throw new DomainError("engine.unreachable", "The server is shutting down. Try again when it is back.");
    opening ??= openEngine({ dataFolder, runtimeFolder, instanceFolder, userRanges, settings, cgroups, emit, warn });
    try {
      return await opening;
    } catch (cause) {
      opening = undefined;
      throw cause;
    }
  }

  async function find({ resourceUuid, deploymentUuid }: ReleaseRef): Promise<SupervisedRelease | undefined> {
    const release = (await opened()).releases.get(deploymentUuid);
    return release?.spec.resourceUuid === resourceUuid ? release : undefined;
  }

  const engine: ProcessEngine = {
    kind: "process",
    capabilities: capabilitiesOf(options.buildPacks ?? ["nixpacks", "railpack", "static"], cgroups),
    open: async () => void (await opened()),
    async close({ stopReleases, graceSeconds = STOP_GRACE_SECONDS }) {
      if (isClosed) return;
      const work = opening;
      isClosed = true;
      const here = await work?.catch(() => undefined);
      if (here === undefined) return;
      try {
        if (stopReleases)
          await Promise.all([...here.releases.values()].map((one) => one.stop(graceSeconds, "running")));
      } finally {
        here.close();
      }
    },
    inWorkplace: async (request, visible, work) => inWorkplace((await opened()).host, request, visible, work),
    build: async (request, io) => buildRelease(await opened(), builder, request, io),
    async start(spec, io) {
      if (io.signal.aborted) throw new DomainError("deploy.cancelled", "The work was cancelled.");
      const { host, releases } = await opened();
      const known = releases.get(spec.deploymentUuid);
      const release = known ?? new SupervisedRelease(host, spec, NEW_RECORD);
      releases.set(spec.deploymentUuid, release);
      return release.start(spec);
    },
    stop: async (ref, { graceSeconds }) => (await find(ref))?.stop(graceSeconds, "stopped"),
    remove: async (ref, { graceSeconds = STOP_GRACE_SECONDS } = {}) => (await opened()).remove(ref, graceSeconds),
    async inspect(ref) {
      const release = await find(ref);
      await release?.findPort();
      return release?.state();
    },
    list: async () => [...(await opened()).releases.values()].map((release) => release.state()),
    async exec(ref, script, execOptions) {
      const release = await find(ref);
      if (release === undefined) throw notFound("Release");
      return executeIn((await opened()).host, release, script, execOptions);
    },
    async *logs(ref, query) {
      const release = await find(ref);
      if (release === undefined) throw notFound("Release");
      const source = {
        file: release.log,
        times: release.times,
        path: runPaths(dataFolder, ref).log,
        isQuiet: () => release.state().state !== "running",
        isGone: () => release.isGone(),
      };
      yield* readLogLines(source, query);
    },
    // Requests come from the same machine, so that a loopback address is as good as any.
    listeningPorts: async (ref) => {
      const ports = await listeningPorts((await find(ref))?.pids() ?? []);
      return ports.map((port) => ({ port }));
    },
    async removeVolumes(resourceUuid, volumes) {
      await opened();
      await removeVolumeFolders(
        dataFolder,
        resourceUuid,
        volumes.map(({ uuid }) => uuid),
      );
    },
    async removeResource(resourceUuid, { deleteVolumes }) {
      const { host, releases, remove } = await opened();
      const own = [...releases.values()].map((release) => release.spec).filter((s) => s.resourceUuid === resourceUuid);
      await Promise.all(own.map((spec) => remove(spec, STOP_GRACE_SECONDS)));
      await endLeftovers(host, resourceUuid);
      await removeResourceFolders(dataFolder, resourceUuid, deleteVolumes);
    },
    onStateChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    // A stopped release is started as a new one, releases have no names of their own, and listing them costs nothing.
    resume: async () => undefined,
    requireName: async () => undefined,
    takeName: async () => undefined,
    lastSeen: () => undefined,
    volumesOf: async () => [],
    async usage(ref) {
      const release = await find(ref);
      return release === undefined ? undefined : usageOf(release.pids());
    },
  };
  return withDomainErrors(engine);
}

function capabilitiesOf(buildPacks: readonly string[], cgroups: Cgroups): EngineCapabilities {
  return {
    kinds: ["application"],
    build_packs: buildPacks,
    keepsBuilds: true,
    replicas: false,
    placement: false,
    port_mappings: false,
    networks: false,
    privileged_mounts: false,
    memory_limit: cgroups.hasMemory,
    cpu_limit: cgroups.hasCpu,
  };
}

/** Converts foreign errors to DomainErrors at the edge. */
function withDomainErrors(engine: ProcessEngine): ProcessEngine {
  const wrapped = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      try {
        return await call(...args);
      } catch (cause) {
        throw toDomainError(cause);
      }
    };
  };
  return {
    ...engine,
    open: wrapped(engine.open),
    close: wrapped(engine.close),
    build: wrapped(engine.build),
    start: wrapped(engine.start),
    stop: wrapped(engine.stop),
    remove: wrapped(engine.remove),
    inspect: wrapped(engine.inspect),
    list: wrapped(engine.list),
    exec: wrapped(engine.exec),
    listeningPorts: wrapped(engine.listeningPorts),
    removeVolumes: wrapped(engine.removeVolumes),
    removeResource: wrapped(engine.removeResource),
    usage: wrapped(engine.usage),
    async *logs(ref, query) {
      try {
        yield* engine.logs(ref, query);
      } catch (cause) {
        throw toDomainError(cause);
      }
    },
  };
}

function toDomainError(cause: unknown): DomainError {
  if (isDomainError(cause)) return cause;
  return new DomainError("engine.failed", "The process engine failed. See the server's log for the reason.", { cause });
}
