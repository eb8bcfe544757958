import type { DeliveredPosition, Drained, DrainResult, LogDrainSender, ServerRecord } from "@berth/core/ports";
import { FluentBitProblem, type LogDrain, logDrainOf, NO_LOG_DRAIN_SECRETS } from "@berth/core/server";
import { DrainedLogs } from "./drained-logs.ts";
import { type BufferedLine, LineBuffer } from "./line-buffer.ts";
import { LogDrainReport } from "./log-drain-report.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import type { WorkerSettings } from "./settings.ts";
import { pause, within } from "./wait.ts";

export interface DrainSessionDeps extends Pick<WorkerDeps, "stores" | "logger" | "clock"> {
  readonly settings: Pick<
    WorkerSettings,
    "logDrainFlushMs" | "logDrainRetrySeconds" | "logDrainRetrySecondsMax" | "idleSeconds" | "serverLeaseSeconds"
  >;
  readonly serverLeases: ServerLeases;
  readonly send: LogDrainSender;
}

/** Delivers the lines of one server, as long as this control plane has its lease. */
export class DrainSession {
  readonly #deps: DrainSessionDeps;
  readonly #stopping = new AbortController();
  readonly #buffer = new LineBuffer(BUFFERED_LENGTH_MAX);
  readonly #logs: DrainedLogs;
  readonly #positions: DeliveredPositions;
  readonly #report: LogDrainReport;
  readonly #sending: Promise<void>;
  #server: ServerRecord;
  #receiver: Receiver = { drain: undefined, revision: undefined, replaced: new AbortController() };

  constructor(deps: DrainSessionDeps, server: ServerRecord) {
    this.#deps = deps;
    this.#server = server;
    this.#logs = new DrainedLogs(deps, this.#buffer, this.#stopping.signal);
    this.#positions = new DeliveredPositions(deps, server);
    this.#report = new LogDrainReport(deps, server);
    this.#sending = this.#sendAll();
  }

  /** Follows these releases, and delivers to the log drain that is set now. */
  async update(adapters: ServerAdapters, drained: Drained): Promise<void> {
    this.#server = adapters.server;
    await this.#readReceiver();
    if (this.#stopping.signal.aborted) return;
    this.#logs.update(adapters, drained);
    await this.#positions.save();
  }

  /** Ends the reading at once, and waits for what is being sent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await within(STOP_SECONDS_MAX, this.#sending);
  }

  async #readReceiver(): Promise<void> {
    const { id, revision, settings } = this.#server;
    const previous = this.#receiver;
    if (revision === previous.revision) return;
    const secrets = (await this.#deps.stores.logDrains.secrets(id)) ?? NO_LOG_DRAIN_SECRETS;
    let drain: LogDrain | undefined;
    try {
      drain = logDrainOf(settings, secrets);
    } catch (problem) {
      if (!(problem instanceof FluentBitProblem)) throw problem;
      await this.#report.failed("config", problem.message);
    }
    if (JSON.stringify(drain) === JSON.stringify(previous.drain)) {
      this.#receiver = { ...previous, revision };
      return;
    }
    this.#receiver = { drain, revision, replaced: new AbortController() };
    // What waits for its next try is sent to the new receiver at once.
    previous.replaced.abort();
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#stopping;
    const { logDrainFlushMs, logDrainRetrySeconds } = this.#deps.settings;
    let failures = 0;
    let countMax = BATCH.count;
    while (!signal.aborted) {
      await this.#buffer.filled(signal);
      if (failures === 0) await pause(logDrainFlushMs / 1000, signal);
      const batch = this.#buffer.oldest({ ...BATCH, count: countMax });
      if (signal.aborted || batch.length === 0) continue;
      const { replaced } = this.#receiver;
      const result = await this.#attempt(batch);
      if (result === undefined) {
        await pause(logDrainRetrySeconds, signal);
        continue;
      }
      if (result.isDelivered) {
        failures = 0;
        countMax = BATCH.count;
        await this.#settle(batch);
        await this.#report.delivered(result);
        continue;
      }
      failures += 1;
      if (result.cause === "size" && batch.length > 1) countMax = Math.ceil(batch.length / 2);
      else if (result.cause !== "receiver" && failures >= CONTENT_TRIES_MAX) {
        // A batch that is never accepted must not hold up those behind it.
        await this.#settle(batch);
        await this.#report.dropped(batch.length, result.problem);
        failures = 0;
        continue;
      } else await this.#report.failed(result.kind, result.problem);
      const seconds = this.#secondsUntilRetry(failures, result.retryAfterSeconds);
      await pause(seconds, AbortSignal.any([signal, replaced.signal]));
    }
  }

  /** @returns `undefined` if nothing was sent: no receiver is set, or another control plane has the lease. */
  async #attempt(batch: readonly BufferedLine[]): Promise<DrainResult | undefined> {
    const { serverLeases, logger, send } = this.#deps;
    const { drain } = this.#receiver;
    try {
      if (drain === undefined || !(await serverLeases.acquire(this.#server.id))) return undefined;
    } catch (error) {
      logger.debug("The lease of a server could not be renewed.", { server: this.#server.name, error });
      return undefined;
    }
    return await send(
      drain,
      batch.map(({ line }) => line),
    );
  }

  async #settle(batch: readonly BufferedLine[]): Promise<void> {
    const sent = new Set(batch);
    this.#positions.add(batch);
    this.#buffer.remove((line) => sent.has(line));
    await this.#positions.save();
  }

  #secondsUntilRetry(failures: number, retryAfterSeconds = 0): number {
    const { logDrainRetrySeconds, logDrainRetrySecondsMax } = this.#deps.settings;
    const seconds = Math.min(logDrainRetrySeconds * 2 ** (failures - 1), logDrainRetrySecondsMax);
    return Math.max(seconds, Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX));
  }
}

interface Receiver {
  readonly drain: LogDrain | undefined;
  /** Of the server whose settings were read last. */
  readonly revision: number | undefined;
  /** Aborted when another receiver is set. */
  readonly replaced: AbortController;
}

/** How far the logs of a server's releases are delivered. What could not be saved is saved with the next batch. */
class DeliveredPositions {
  readonly #deps: DrainSessionDeps;
  readonly #server: ServerRecord;
  /** By the id of the deployment. */
  readonly #unsaved = new Map<number, DeliveredPosition>();

  constructor(deps: DrainSessionDeps, server: ServerRecord) {
    this.#deps = deps;
    this.#server = server;
  }

  add(batch: readonly BufferedLine[]): void {
    for (const { deploymentId, since, cursor } of batch) {
      this.#unsaved.set(deploymentId, { deployment_id: deploymentId, since, cursor });
    }
  }

  async save(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const { stores, serverLeases, logger } = this.#deps;
    const positions = [...this.#unsaved.values()];
    try {
      await stores.logDrains.savePositions(serverLeases.fence(this.#server.id), positions);
      for (const position of positions) {
        const { deployment_id } = position;
        if (this.#unsaved.get(deployment_id) === position) this.#unsaved.delete(deployment_id);
      }
    } catch (error) {
      const { name } = this.#server;
      logger.debug("The positions of delivered log lines could not be saved.", { server: name, error });
    }
  }
}

/** New Relic accepts a megabyte, compressed; Loki four, uncompressed. */
const BATCH = { count: 1000, length: 512 * 1024 };
/** Of one server: some batches, so that reading continues while one is sent. */
const BUFFERED_LENGTH_MAX = 2 * 1024 * 1024;
const CONTENT_TRIES_MAX = 5;
const RETRY_AFTER_SECONDS_MAX = 600;
const STOP_SECONDS_MAX = 4;
