import type { FSWatcher } from "node:fs";
import { DomainError, isDomainError } from "@berth/core";
import type { ContainerState, ReleaseSpec, ReleaseState, Upstream } from "@berth/core/deploy";
import type { DesiredState } from "@berth/core/resource";
import { isLiving } from "@berth/host";
import pLimit from "p-limit";
import { type LogFile, logFile } from "./log-file.ts";
import { tryWatch } from "./log-lines.ts";
import { listeningPorts } from "./network.ts";
import { makeFolder, makeResourceFolders, resourcePaths, runPaths } from "./paths.ts";
import { type ReleaseRecord, writeRecord, writeSpec } from "./record.ts";
import { endRelease, folderOf, hasEnded, launch, logWriters, releasePids } from "./release-process.ts";
import { type ReleaseHost, userOf } from "./settings.ts";
import { mountStorages } from "./storages.ts";

/** A release that is restarted after each exit until it is stopped. */
export interface SupervisedRelease {
  readonly log: LogFile;
  state(): ReleaseState;
  spec(): ReleaseSpec;
  record(): ReleaseRecord;
  /** Its living processes. */
  pids(): number[];
  /** Finds out where it takes requests: some programs listen on a port of their own choice, whatever `PORT` says. */
  findPort(): Promise<void>;
  isGone(): boolean;
  start(spec: ReleaseSpec): Promise<ReleaseState>;
  /** @param desired `running` when the next control plane shall start it again. */
  stop(graceSeconds: number, desired: DesiredState): Promise<void>;
  /** Ends it for good; the caller then removes its folders. */
  retire(graceSeconds: number): Promise<void>;
  /** Takes over processes of an earlier control plane: running ones continue, exits in the meantime are recorded. */
  adopt(): Promise<void>;
  /** Checks its state; called repeatedly, in case no watch reports a change. */
  tick(): void;
  /** Stops supervising without stopping it. */
  detach(): void;
}

const LEFTOVER_GRACE_SECONDS = 2; // For child processes that remain after a crash.
const INTERRUPTED_STOP_GRACE_SECONDS = 10; // Docker's own default for "docker stop".

export function superviseRelease(
  host: ReleaseHost,
  firstSpec: ReleaseSpec,
  firstRecord: ReleaseRecord,
): SupervisedRelease {
  const { resourceUuid, deploymentUuid } = firstSpec;
  const ref = { resourceUuid, deploymentUuid };
  const paths = runPaths(host.dataFolder, ref);
  const log = logFile(paths.log, host.settings.log);
  const locked = pLimit(1);
  let spec = firstSpec;
  let record = firstRecord;
  let phase: ContainerState = record.startedAt === null ? "created" : "exited";
  let crashes = 0;
  let restartTimer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  let isDetached = false;
  let isPortFound = false;

  const upstream = (): Upstream | null => {
    const port = record.ownPort ?? record.port;
    return phase === "running" && port !== null && isExposed(spec) ? { host: "127.0.0.1", port } : null;
  };
  const state = (): ReleaseState => ({
    ...ref,
    state: phase,
    upstream: upstream(),
    restartCount: record.restartCount,
    exitCode: record.exitCode,
    startedAt: record.startedAt === null ? null : new Date(record.startedAt),
  });

  function enter(next: ContainerState): void {
    phase = next;
    host.emit(state());
  }

  async function save(change: Partial<ReleaseRecord>): Promise<void> {
    const next = { ...record, ...change };
    await writeRecord(paths, next);
    // Assigned only after it is written: on a full disk the change is retried.
    record = next;
  }

  async function run(): Promise<void> {
    await log.endLine();
    isPortFound = false;
    const port = await host.ports.claim(deploymentUuid, record.port);
    await save({ port, runtime: host.runtime.folder });
    await launch(host, spec, port, (process) => save({ process, startedAt: Date.now() }));
    watch();
    enter("running");
  }

  /** Only ports that `ports_exposes` names: a program may listen on others for its own purposes. */
  async function findPort(): Promise<void> {
    if (isPortFound || phase !== "running" || spec.ports.length === 0) return;
    const listening = listeningPorts(releasePids(host, ref, record.process));
    const isTold = record.port !== null && listening.includes(record.port);
    const ownPort = isTold ? null : spec.ports.find((exposed) => listening.includes(exposed));
    if (ownPort === undefined) return;
    isPortFound = true;
    if (ownPort !== (record.ownPort ?? null)) await locked(() => save({ ownPort }));
  }

  function watch(): void {
    watcher?.close();
    watcher = tryWatch(paths.result, tick);
  }

  /** Ends its remaining processes and records the exit code. */
  async function end(graceSeconds: number): Promise<void> {
    clearTimeout(restartTimer);
    watcher?.close();
    const exitCode = await endRelease(host, ref, record.process, graceSeconds);
    await save({ process: null, exitCode });
  }

  async function notice(): Promise<void> {
    if (isDetached || phase !== "running" || record.process === null || !hasEnded(paths, record.process)) return;
    const ranMs = Date.now() - (record.startedAt ?? 0);
    await end(LEFTOVER_GRACE_SECONDS);
    if (ranMs >= host.settings.restart.stableSeconds * 1000) crashes = 0;
    await awaitRestart();
  }

  async function awaitRestart(): Promise<void> {
    const { delayMsMin, delayMsMax } = host.settings.restart;
    const delayMs = Math.min(delayMsMax, delayMsMin * 2 ** crashes);
    crashes++;
    record = { ...record, restartCount: record.restartCount + 1 };
    enter("restarting");
    if (!isDetached) restartTimer = setTimeout(() => background("restarted", restart), delayMs).unref();
    await save({});
  }

  async function restart(): Promise<void> {
    if (isDetached || phase !== "restarting") return;
    try {
      await run();
    } catch (cause) {
      host.warn(`Release ${deploymentUuid} cannot be restarted; Berth will retry.`, cause);
      await awaitRestart();
    }
  }

  function background(what: string, work: () => Promise<void>): void {
    locked(work).catch((cause: unknown) => host.warn(`Release ${deploymentUuid} could not be ${what}.`, cause));
  }

  /** Must not throw: in timers and watches an error would end the control plane. */
  function tick(): void {
    try {
      lookAfter();
    } catch (cause) {
      host.warn(`Release ${deploymentUuid} could not be supervised.`, cause);
    }
  }

  function lookAfter(): void {
    if (isDetached || phase !== "running" || record.process === null) return;
    if (hasEnded(paths, record.process)) background("looked after", notice);
    log
      .rotateIfFull(() => logWriters(host, ref, record.process))
      .catch((cause: unknown) => host.warn(`The log of release ${deploymentUuid} could not be rotated.`, cause));
  }

  async function prepare(): Promise<void> {
    const user = userOf(host.settings, spec.resourceNumber);
    const resource = resourcePaths(host.dataFolder, resourceUuid);
    await makeResourceFolders(resource, user);
    await makeFolder(paths.folder, undefined);
    await writeSpec(paths, spec);
    await mountStorages(spec, await folderOf(host, spec), resource, user);
  }

  return {
    log,
    state,
    tick,
    spec: () => spec,
    record: () => record,
    pids: () => releasePids(host, ref, record.process),
    findPort,
    isGone: () => phase === "removing" || isDetached,
    start: (next) =>
      locked(async () => {
        if (phase === "running" || phase === "restarting") return state();
        if (phase === "removing")
          throw new DomainError("deploy.start_failed", "The release is being removed. Deploy again.");
        spec = next;
        crashes = 0;
        try {
          // A failed takeover may have left it running, and it must not run twice.
          if (record.process !== null) await end(LEFTOVER_GRACE_SECONDS);
          await prepare();
          await save({ desired: "running", restartCount: 0, ownPort: null });
          await run();
        } catch (cause) {
          throw startFailed(cause);
        }
        return state();
      }),
    stop: (graceSeconds, desired) =>
      locked(async () => {
        if (record.desired !== desired && desired === "stopped") await save({ desired });
        if (phase !== "running" && phase !== "restarting") return;
        await end(graceSeconds);
        await host.cgroups.remove(deploymentUuid);
        enter("exited");
      }),
    retire: (graceSeconds) =>
      locked(async () => {
        await makeFolder(paths.folder, undefined);
        await save({ isRemoving: true, desired: "stopped" });
        enter("removing");
        await end(graceSeconds);
        await host.cgroups.remove(deploymentUuid);
        host.ports.release(deploymentUuid);
      }),
    adopt: () =>
      locked(async () => {
        if (record.port !== null) host.ports.reserve(deploymentUuid, record.port);
        await log
          .recover(logWriters(host, ref, record.process))
          .catch((cause: unknown) => host.warn(`The log of release ${deploymentUuid} could not be recovered.`, cause));
        if (record.process === null) return;
        const isRunning = isLiving(record.process) && !hasEnded(paths, record.process);
        if (isRunning && record.desired === "running") {
          phase = "running";
          return watch();
        }
        // It exited while no control plane ran, or was being stopped when the control plane died.
        await end(isRunning ? INTERRUPTED_STOP_GRACE_SECONDS : LEFTOVER_GRACE_SECONDS);
        await host.cgroups.remove(deploymentUuid);
      }),
    detach() {
      isDetached = true;
      clearTimeout(restartTimer);
      watcher?.close();
    },
  };
}

/** A release that receives no requests has no upstream. */
const isExposed = ({ ports, artifact }: ReleaseSpec): boolean =>
  ports.length > 0 || (artifact.type === "folder" && artifact.run.type === "static");

function startFailed(cause: unknown): DomainError {
  if (isDomainError(cause, "deploy.start_failed", "engine.unsupported")) return cause;
  const reason = isDomainError(cause) ? cause.message : "See the server's log for the reason.";
  return new DomainError("deploy.start_failed", `The application could not be started. ${reason}`, { cause });
}
