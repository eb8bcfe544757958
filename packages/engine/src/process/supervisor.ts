import type { FSWatcher } from "node:fs";
import { DomainError, isDomainError } from "@berth/core";
import type { ContainerState, ReleaseRef, ReleaseSpec, ReleaseState, Upstream } from "@berth/core/deploy";
import type { DesiredState } from "@berth/core/resource";
import { isLiving } from "@berth/host";
import pLimit from "p-limit";
import { type LogFile, logFile } from "./log-file.ts";
import { tryWatch } from "./log-lines.ts";
import { type LogTimes, logTimes } from "./log-times.ts";
import { listeningPorts } from "./network.ts";
import { makeFolder, makeResourceFolders, resourcePaths, runPaths } from "./paths.ts";
import { type ReleaseRecord, writeRecord, writeSpec } from "./record.ts";
import { endRelease, folderOf, hasEnded, launch, logWriters, releasePids } from "./release-process.ts";
import { type ReleaseHost, userOf } from "./settings.ts";
import { mountStorages } from "./storages.ts";

const LEFTOVER_GRACE_SECONDS = 2; // For child processes that remain after a crash.
const INTERRUPTED_STOP_GRACE_SECONDS = 10; // Docker's own default for "docker stop".
const PORT_LOOK_MS = 200; // A look reads the sockets of the whole machine.

/** A release that is restarted after each exit until it is stopped. */
export class SupervisedRelease {
  readonly log: LogFile;
  readonly times: LogTimes;
  readonly #host: ReleaseHost;
  readonly #ref: ReleaseRef;
  readonly #paths: ReturnType<typeof runPaths>;
  /** Changes of its processes and its record happen one after the other. */
  readonly #locked = pLimit(1);
  #spec: ReleaseSpec;
  #record: ReleaseRecord;
  #phase: ContainerState;
  #crashes = 0;
  #restartTimer: NodeJS.Timeout | undefined;
  #watcher: FSWatcher | undefined;
  #isDetached = false;
  #isPortFound = false;
  #nextPortLookMs = 0;

  constructor(host: ReleaseHost, spec: ReleaseSpec, record: ReleaseRecord) {
    const { resourceUuid, deploymentUuid } = spec;
    this.#host = host;
    this.#ref = { resourceUuid, deploymentUuid };
    this.#paths = runPaths(host.dataFolder, this.#ref);
    this.log = logFile(this.#paths.log, host.settings.log);
    this.times = logTimes(this.#paths.logTimes, () => this.log.bounds());
    this.#spec = spec;
    this.#record = record;
    this.#phase = record.startedAt === null ? "created" : "exited";
  }

  get spec(): ReleaseSpec {
    return this.#spec;
  }

  get record(): ReleaseRecord {
    return this.#record;
  }

  isGone(): boolean {
    return this.#phase === "removing" || this.#isDetached;
  }

  state(): ReleaseState {
    const { restartCount, exitCode, startedAt } = this.#record;
    return {
      ...this.#ref,
      state: this.#phase,
      upstream: this.#upstream(),
      restartCount,
      exitCode,
      startedAt: startedAt === null ? null : new Date(startedAt),
    };
  }

  /** Its living processes. */
  pids(): number[] {
    return releasePids(this.#host, this.#ref, this.#record.process);
  }

  /**
   * Finds out where it takes requests: some programs listen on a port of their own choice, whatever `PORT` says. Only
   * ports that `ports_exposes` names: a program may listen on others for its own purposes.
   */
  async findPort(): Promise<void> {
    if (this.#isPortFound || this.#phase !== "running" || this.#spec.ports.length === 0) return;
    // Most listen where they are told, which the first request to it shows sooner.
    if (Date.now() < this.#nextPortLookMs) return;
    this.#nextPortLookMs = Date.now() + PORT_LOOK_MS;
    const { process } = this.#record;
    const listening = await listeningPorts(this.pids());
    if (this.#record.process !== process) return;
    const isTold = this.#record.port !== null && listening.includes(this.#record.port);
    const ownPort = isTold ? null : this.#spec.ports.find((exposed) => listening.includes(exposed));
    if (ownPort === undefined) return;
    this.#isPortFound = true;
    if (ownPort !== (this.#record.ownPort ?? null)) await this.#locked(() => this.#save({ ownPort }));
  }

  start(spec: ReleaseSpec): Promise<ReleaseState> {
    return this.#locked(async () => {
      if (this.#phase === "running" || this.#phase === "restarting") return this.state();
      if (this.#phase === "removing") {
        throw new DomainError("deploy.start_failed", "The release is being removed. Deploy again.");
      }
      this.#spec = spec;
      this.#crashes = 0;
      try {
        // A failed takeover may have left it running, and it must not run twice.
        if (this.#record.process !== null) await this.#end(LEFTOVER_GRACE_SECONDS);
        await this.#prepare();
        // The same program listens on the same port, which the next deployment must know before it does.
        const { ownPort } = this.#record;
        const isStillExposed = ownPort != null && spec.ports.includes(ownPort);
        await this.#save({ desired: "running", restartCount: 0, ownPort: isStillExposed ? ownPort : null });
        await this.#run();
      } catch (cause) {
        throw startFailed(cause);
      }
      return this.state();
    });
  }

  /** @param desired `running` when the next control plane shall start it again. */
  stop(graceSeconds: number, desired: DesiredState): Promise<void> {
    return this.#locked(async () => {
      if (this.#record.desired !== desired && desired === "stopped") await this.#save({ desired });
      if (this.#phase !== "running" && this.#phase !== "restarting") return;
      await this.#end(graceSeconds);
      await this.#host.cgroups.remove(this.#ref.deploymentUuid);
      this.#enter("exited");
    });
  }

  /** Ends it for good; the caller then removes its folders. */
  retire(graceSeconds: number): Promise<void> {
    return this.#locked(async () => {
      await makeFolder(this.#paths.folder, undefined);
      await this.#save({ isRemoving: true, desired: "stopped" });
      this.#enter("removing");
      await this.#end(graceSeconds);
      await this.#host.cgroups.remove(this.#ref.deploymentUuid);
      this.#host.ports.release(this.#ref.deploymentUuid);
    });
  }

  /** Takes over processes of an earlier control plane: running ones continue, exits in the meantime are recorded. */
  adopt(): Promise<void> {
    return this.#locked(async () => {
      const { deploymentUuid } = this.#ref;
      const { port, process, desired } = this.#record;
      if (port !== null) this.#host.ports.reserve(deploymentUuid, port);
      await this.log
        .recover(logWriters(this.#host, this.#ref, process))
        .catch((cause) => this.#host.warn(`The log of release ${deploymentUuid} could not be recovered.`, cause));
      if (process === null) return;
      const isRunning = isLiving(process) && !hasEnded(this.#paths, process);
      if (isRunning && desired === "running") {
        this.#phase = "running";
        return this.#watch();
      }
      // It exited while no control plane ran, or was being stopped when the control plane died.
      await this.#end(isRunning ? INTERRUPTED_STOP_GRACE_SECONDS : LEFTOVER_GRACE_SECONDS);
      await this.#host.cgroups.remove(deploymentUuid);
    });
  }

  /**
   * Checks its state; called repeatedly, in case no watch reports a change. Does not throw: in timers and watches an
   * error would end the control plane.
   */
  tick(): void {
    try {
      this.#check();
    } catch (cause) {
      this.#host.warn(`Release ${this.#ref.deploymentUuid} could not be supervised.`, cause);
    }
  }

  /** Stops supervising without stopping it. */
  detach(): void {
    this.#isDetached = true;
    clearTimeout(this.#restartTimer);
    this.#watcher?.close();
  }

  #upstream(): Upstream | null {
    const port = this.#record.ownPort ?? this.#record.port;
    return this.#phase === "running" && port !== null && isExposed(this.#spec) ? { host: "127.0.0.1", port } : null;
  }

  #enter(next: ContainerState): void {
    this.#phase = next;
    this.#host.emit(this.state());
  }

  async #save(change: Partial<ReleaseRecord>): Promise<void> {
    const next = { ...this.#record, ...change };
    await writeRecord(this.#paths, next);
    // Assigned only after it is written: on a full disk the change is retried.
    this.#record = next;
  }

  async #prepare(): Promise<void> {
    const user = userOf(this.#host.settings, this.#spec.resourceNumber);
    const resource = resourcePaths(this.#host.dataFolder, this.#ref.resourceUuid);
    await makeResourceFolders(resource, user);
    await makeFolder(this.#paths.folder, undefined);
    await writeSpec(this.#paths, this.#spec);
    await mountStorages(this.#spec, await folderOf(this.#host, this.#spec), resource, user);
  }

  async #run(): Promise<void> {
    await this.log.endLine();
    this.times.look();
    this.#isPortFound = false;
    this.#nextPortLookMs = Date.now() + PORT_LOOK_MS;
    const port = await this.#host.ports.claim(this.#ref.deploymentUuid, this.#record.port);
    await this.#save({ port, runtime: this.#host.runtime.folder });
    await launch(this.#host, this.#spec, port, (process) => this.#save({ process, startedAt: Date.now() }));
    this.#watch();
    this.#enter("running");
  }

  #watch(): void {
    this.#watcher?.close();
    this.#watcher = tryWatch(this.#paths.result, () => this.tick());
  }

  #check(): void {
    const { process } = this.#record;
    if (this.#isDetached || this.#phase !== "running" || process === null) return;
    if (hasEnded(this.#paths, process)) this.#inBackground("looked after", () => this.#recordExit());
    const { deploymentUuid } = this.#ref;
    this.times.look();
    this.log
      .rotateIfFull(() => logWriters(this.#host, this.#ref, this.#record.process))
      .catch((cause) => this.#host.warn(`The log of release ${deploymentUuid} could not be rotated.`, cause));
  }

  #inBackground(what: string, work: () => Promise<void>): void {
    const { deploymentUuid } = this.#ref;
    this.#locked(work).catch((cause) => this.#host.warn(`Release ${deploymentUuid} could not be ${what}.`, cause));
  }

  async #recordExit(): Promise<void> {
    const { process, startedAt } = this.#record;
    if (this.#isDetached || this.#phase !== "running" || process === null || !hasEnded(this.#paths, process)) return;
    const ranMs = Date.now() - (startedAt ?? 0);
    await this.#end(LEFTOVER_GRACE_SECONDS);
    if (ranMs >= this.#host.settings.restart.stableSeconds * 1000) this.#crashes = 0;
    await this.#awaitRestart();
  }

  async #awaitRestart(): Promise<void> {
    const { delayMsMin, delayMsMax } = this.#host.settings.restart;
    const delayMs = Math.min(delayMsMax, delayMsMin * 2 ** this.#crashes);
    this.#crashes++;
    this.#record = { ...this.#record, restartCount: this.#record.restartCount + 1 };
    this.#enter("restarting");
    if (!this.#isDetached) {
      const restart = () => this.#inBackground("restarted", () => this.#restart());
      this.#restartTimer = setTimeout(restart, delayMs).unref();
    }
    await this.#save({});
  }

  async #restart(): Promise<void> {
    if (this.#isDetached || this.#phase !== "restarting") return;
    try {
      await this.#run();
    } catch (cause) {
      this.#host.warn(`Release ${this.#ref.deploymentUuid} cannot be restarted; Berth will retry.`, cause);
      await this.#awaitRestart();
    }
  }

  /** Ends its remaining processes and records the exit code. */
  async #end(graceSeconds: number): Promise<void> {
    clearTimeout(this.#restartTimer);
    this.#watcher?.close();
    const exitCode = await endRelease(this.#host, this.#ref, this.#record.process, graceSeconds);
    this.times.look();
    await this.#save({ process: null, exitCode });
  }
}

/** A release that receives no requests has no upstream. */
const isExposed = ({ ports, artifact }: ReleaseSpec): boolean =>
  ports.length > 0 || (artifact.type === "folder" && artifact.run.type === "static");

function startFailed(cause: unknown): DomainError {
  if (isDomainError(cause, "deploy.start_failed", "engine.unsupported")) return cause;
  const reason = isDomainError(cause) ? cause.message : "See the server's log for the reason.";
  return new DomainError("deploy.start_failed", `The application could not be started. ${reason}`, { cause });
}
