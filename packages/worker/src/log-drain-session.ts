import { isDomainError, isServerAway } from "@berth/core";
import { ALL_CONTAINERS } from "@berth/core/deploy";
import type {
  DeliveredPosition,
  Drained,
  DrainedRelease,
  DrainResult,
  Engine,
  LogDrainSender,
  LogLine,
  LogQuery,
  ServerRecord,
} from "@berth/core/ports";
import { FluentBitProblem, type LogDrain, logDrainOf, NO_LOG_DRAIN_SECRETS } from "@berth/core/server";
import { dedupedWarnings } from "./deduped-warnings.ts";
import { type BufferedLine, LineBuffer } from "./line-buffer.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import type { WorkerSettings } from "./settings.ts";
import { pause, within } from "./wait.ts";

/** Delivers the lines of one server, as long as this control plane has its lease. */
export interface DrainSession {
  /** Follows these releases, and delivers to the log drain that is set now. */
  update(adapters: ServerAdapters, drained: Drained): Promise<void>;
  /** Ends the reading at once, and waits for what is being sent. */
  stop(): Promise<void>;
}

export interface DrainSessionDeps extends Pick<WorkerDeps, "stores" | "logger" | "clock"> {
  readonly settings: Pick<
    WorkerSettings,
    "logDrainFlushMs" | "logDrainRetrySeconds" | "logDrainRetrySecondsMax" | "idleSeconds" | "serverLeaseSeconds"
  >;
  readonly serverLeases: ServerLeases;
  readonly send: LogDrainSender;
}

interface Follower {
  readonly resourceId: number;
  readonly ended: AbortController;
}

export function createDrainSession(deps: DrainSessionDeps, first: ServerRecord): DrainSession {
  const { stores, logger, settings, serverLeases, send } = deps;
  const stopping = new AbortController();
  const buffer = new LineBuffer(BUFFERED_LENGTH_MAX);
  const followers = new Map<number, Follower>();
  const warnings = dedupedWarnings(logger);
  const report = createReport(deps, first);
  /** Positions that are delivered and not stored yet. */
  const unsaved = new Map<number, string>();
  let drainedIds: ReadonlySet<number> = new Set();
  let server = first;
  let revision: number | undefined;
  let drain: LogDrain | undefined;
  let configured = new AbortController();

  const readDrain = async () => {
    if (server.revision === revision) return;
    const { revision: read } = server;
    const secrets = (await stores.logDrains.secrets(server.id)) ?? NO_LOG_DRAIN_SECRETS;
    const before = JSON.stringify(drain);
    try {
      drain = logDrainOf(server.settings, secrets);
    } catch (problem) {
      if (!(problem instanceof FluentBitProblem)) throw problem;
      drain = undefined;
      await report.failed("config", problem.message);
    }
    revision = read;
    if (JSON.stringify(drain) === before) return;
    // What waits for its next try is sent to the new receiver at once.
    configured.abort();
    configured = new AbortController();
  };

  const sendAll = async () => {
    const { signal } = stopping;
    let failures = 0;
    let countMax = BATCH.count;
    while (!signal.aborted) {
      await buffer.filled(signal);
      if (failures === 0) await pause(settings.logDrainFlushMs / 1000, signal);
      const batch = buffer.oldest({ ...BATCH, count: countMax });
      if (signal.aborted || batch.length === 0) continue;
      const current = configured.signal;
      const result = await attempt(batch);
      if (result === undefined) {
        await pause(settings.logDrainRetrySeconds, signal);
        continue;
      }
      if (result.isDelivered) {
        failures = 0;
        countMax = BATCH.count;
        await settle(batch);
        await report.delivered(result);
        continue;
      }
      failures += 1;
      if (result.cause === "size" && batch.length > 1) countMax = Math.ceil(batch.length / 2);
      else if (result.cause !== "receiver" && failures >= CONTENT_TRIES_MAX) {
        // A batch that is never accepted must not hold up those behind it.
        await settle(batch);
        await report.dropped(batch.length, result.problem);
        failures = 0;
        continue;
      } else await report.failed(result.kind, result.problem);
      await pause(secondsUntilRetry(failures, result.retryAfterSeconds), AbortSignal.any([signal, current]));
    }
  };

  /** @returns `undefined` if nothing was sent: no receiver is set, or another control plane has the lease. */
  const attempt = async (batch: readonly BufferedLine[]): Promise<DrainResult | undefined> => {
    try {
      if (drain === undefined || !(await serverLeases.acquire(server.id))) return undefined;
    } catch (error) {
      logger.debug("The lease of a server could not be renewed.", { server: server.name, error });
      return undefined;
    }
    return await send(
      drain,
      batch.map(({ line }) => line),
    );
  };

  const secondsUntilRetry = (failures: number, retryAfterSeconds = 0) => {
    const { logDrainRetrySeconds, logDrainRetrySecondsMax } = settings;
    const seconds = Math.min(logDrainRetrySeconds * 2 ** (failures - 1), logDrainRetrySecondsMax);
    return Math.max(seconds, Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX));
  };

  const settle = async (batch: readonly BufferedLine[]) => {
    const sent = new Set(batch);
    for (const { deploymentId, resourceId, cursor } of batch) {
      // Of a resource that was turned off meanwhile, nothing is remembered.
      if (drainedIds.has(resourceId)) unsaved.set(deploymentId, cursor);
    }
    buffer.remove((line) => sent.has(line));
    await savePositions();
  };

  /** What could not be saved is saved with the next batch. */
  const savePositions = async () => {
    const positions: readonly DeliveredPosition[] = [...unsaved].map(([deployment_id, cursor]) => ({
      deployment_id,
      cursor,
    }));
    try {
      await stores.logDrains.savePositions(serverLeases.fence(server.id), positions);
      for (const { deployment_id, cursor } of positions) {
        if (unsaved.get(deployment_id) === cursor) unsaved.delete(deployment_id);
      }
    } catch (error) {
      logger.debug("The positions of delivered log lines could not be saved.", { server: server.name, error });
    }
  };

  const followDrained = ({ engine }: ServerAdapters, { resourceIds, releases }: Drained) => {
    drainedIds = resourceIds;
    const ids = new Set(releases.map(({ deployment_id }) => deployment_id));
    for (const [id, { resourceId, ended }] of followers) {
      if (!resourceIds.has(resourceId)) ended.abort();
      // Its last lines are still read.
      else if (!ids.has(id)) void pause(LAST_LINES_SECONDS, ended.signal).then(() => ended.abort());
      else continue;
      followers.delete(id);
    }
    buffer.remove(({ resourceId }) => !resourceIds.has(resourceId));
    for (const release of releases) {
      if (followers.has(release.deployment_id)) continue;
      const ended = new AbortController();
      followers.set(release.deployment_id, { resourceId: release.resource_id, ended });
      void follow(engine, release, AbortSignal.any([stopping.signal, ended.signal]));
    }
  };

  const follow = async (engine: Engine, release: DrainedRelease, signal: AbortSignal) => {
    const { deployment_id, deployment_uuid, resource_uuid } = release;
    const about = String(deployment_id);
    let cursor = release.cursor;
    let query = firstQuery(release);
    for (let rounds = 0; !signal.aborted; rounds += 1) {
      try {
        const own = cursor === null ? query : { after: cursor };
        const ref = { resourceUuid: resource_uuid, deploymentUuid: deployment_uuid };
        for await (const line of engine.logs(ref, { ...own, follow: true, container: ALL_CONTAINERS, signal })) {
          rounds = 0;
          await buffer.add(bufferedLine(release, line), signal);
          if (signal.aborted) return;
          cursor = line.cursor;
        }
        warnings.over(about, "A release's log is read for the log drain again.", { deployment: deployment_uuid });
      } catch (error) {
        if (signal.aborted) return;
        if (isDomainError(error, "engine.unsupported")) query = { lines: 0 };
        // A candidate has no log before its start, and a removed release none any more.
        else if (!isDomainError(error, "resource.not_found") && !isServerAway(error)) {
          warnings.failed(about, "A release's log cannot be read for the log drain.", {
            deployment: deployment_uuid,
            error,
          });
        }
      }
      await pause(Math.min(2 ** rounds / 2, REREAD_SECONDS_MAX), signal);
    }
  };

  const bufferedLine = (release: DrainedRelease, { cursor, line, moment, container }: LogLine): BufferedLine => ({
    deploymentId: release.deployment_id,
    resourceId: release.resource_id,
    cursor,
    line: {
      moment: moment ?? deps.clock.now().toISOString(),
      line,
      container,
      source: {
        server_name: server.name,
        project_name: release.project_name,
        environment_name: release.environment_name,
        resource_kind: release.resource_kind,
        resource_name: release.resource_name,
        resource_uuid: release.resource_uuid,
        deployment_uuid: release.deployment_uuid,
        pull_request_id: release.pull_request_id,
      },
    },
  });

  const sending = sendAll();
  return {
    async update(adapters, drained) {
      server = adapters.server;
      await readDrain();
      if (stopping.signal.aborted) return;
      followDrained(adapters, drained);
      if (unsaved.size > 0) await savePositions();
    },
    async stop() {
      stopping.abort();
      await within(STOP_SECONDS_MAX, sending);
    },
  };
}

/** Where the reading of a release begins of which nothing was delivered yet. */
const firstQuery = ({ created_at, since }: DrainedRelease): LogQuery =>
  created_at >= since ? {} : { since: since.toISOString(), lines: EARLIER_LINES_MAX };

/** Reports a problem on the server and in the log when it begins, when it changes and when it is over. */
function createReport({ stores, logger }: DrainSessionDeps, { id, name, log_drain_problem }: ServerRecord) {
  let known = log_drain_problem === null ? undefined : "recorded before";
  let dropped = 0;

  const record = async (problem: string | null) => {
    try {
      await stores.logDrains.recordProblem(id, problem);
    } catch (error) {
      logger.debug("The problem of a log drain could not be recorded.", { server: name, error });
    }
  };

  const failed = async (kind: string, problem: string) => {
    if (kind === known) return;
    known = kind;
    logger.warn("Log lines of a server cannot be delivered. They wait in its logs.", { server: name, problem });
    await record(problem);
  };

  const lost = async (count: number, problem: string) => {
    dropped += count;
    if (known === "refused") return;
    known = "refused";
    logger.warn("Log lines of a server were refused by the log drain and dropped.", { server: name, dropped, problem });
    await record(`Lines are refused and dropped. ${problem}`);
  };

  return {
    failed,
    dropped: lost,
    async delivered({ refused, problem = "" }: Extract<DrainResult, { isDelivered: true }>) {
      if (refused > 0) return await lost(refused, problem);
      if (known === undefined) return;
      known = undefined;
      logger.info("Log lines of a server are delivered again.", { server: name, dropped });
      dropped = 0;
      await record(null);
    },
  };
}

/** New Relic accepts a megabyte, compressed; Loki four, uncompressed. */
const BATCH = { count: 1000, length: 512 * 1024 };
/** Of one server: some batches, so that reading continues while one is sent. */
const BUFFERED_LENGTH_MAX = 2 * 1024 * 1024;
const CONTENT_TRIES_MAX = 5;
const RETRY_AFTER_SECONDS_MAX = 600;
const LAST_LINES_SECONDS = 5;
const REREAD_SECONDS_MAX = 5;
/** Printed between the moment when a log drain was turned on and the beginning of the reading. */
const EARLIER_LINES_MAX = 20_000;
const STOP_SECONDS_MAX = 4;
