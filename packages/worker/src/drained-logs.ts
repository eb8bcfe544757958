import { isDomainError, isServerAway } from "@berth/core";
import { ALL_CONTAINERS } from "@berth/core/deploy";
import type { Drained, DrainedRelease, Engine, LogLine, LogQuery } from "@berth/core/ports";
import { dedupedWarnings } from "./deduped-warnings.ts";
import type { BufferedLine, LineBuffer } from "./line-buffer.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import { pause } from "./wait.ts";

interface Follower {
  readonly release: DrainedRelease;
  readonly ended: AbortController;
}

/** Reads the logs of a server's drained releases into a buffer, each from its saved position on. */
export class DrainedLogs {
  readonly #deps: Pick<WorkerDeps, "logger" | "clock">;
  readonly #buffer: LineBuffer;
  readonly #stopping: AbortSignal;
  readonly #warnings: ReturnType<typeof dedupedWarnings>;
  /** By the id of the deployment. */
  readonly #followers = new Map<number, Follower>();

  constructor(deps: Pick<WorkerDeps, "logger" | "clock">, buffer: LineBuffer, stopping: AbortSignal) {
    this.#deps = deps;
    this.#buffer = buffer;
    this.#stopping = stopping;
    this.#warnings = dedupedWarnings(deps.logger);
  }

  /** Follows these releases and no others. Lines of resources that are not drained any more are dropped. */
  update(adapters: ServerAdapters, { resourceIds, releases }: Drained): void {
    const current = new Map(releases.map((release) => [release.deployment_id, release]));
    for (const [id, { release, ended }] of this.#followers) {
      const now = current.get(id);
      // Turned off and on again since the last look, which begins anew.
      const isOutdated = now !== undefined && now.since.getTime() !== release.since.getTime();
      if (isOutdated || !resourceIds.has(release.resource_id)) ended.abort();
      // Its last lines are still read.
      else if (now === undefined) void pause(LAST_LINES_SECONDS, ended.signal).then(() => ended.abort());
      else continue;
      this.#followers.delete(id);
    }
    this.#buffer.remove(({ resourceId }) => !resourceIds.has(resourceId));
    for (const release of releases) {
      if (this.#followers.has(release.deployment_id)) continue;
      const ended = new AbortController();
      this.#followers.set(release.deployment_id, { release, ended });
      void this.#follow(adapters, release, AbortSignal.any([this.#stopping, ended.signal]));
    }
  }

  /** Reads until `signal`. A log that ends or cannot be read is read again from the last line on. */
  async #follow({ engine, server }: ServerAdapters, release: DrainedRelease, signal: AbortSignal): Promise<void> {
    const about = String(release.deployment_id);
    const subject = { deployment: release.deployment_uuid };
    let cursor = release.cursor;
    let query = firstQuery(release);
    for (let rounds = 0; !signal.aborted; rounds += 1) {
      try {
        for await (const line of linesOf(engine, release, cursor === null ? query : { after: cursor }, signal)) {
          rounds = 0;
          await this.#buffer.add(this.#bufferedLine(server.name, release, line), signal);
          if (signal.aborted) return;
          cursor = line.cursor;
        }
        this.#warnings.over(about, "A release's log is read for the log drain again.", subject);
      } catch (error) {
        if (signal.aborted) return;
        if (isDomainError(error, "engine.unsupported")) query = { lines: 0 };
        // A candidate has no log before its start, and a removed release none any more.
        else if (!isDomainError(error, "resource.not_found") && !isServerAway(error)) {
          this.#warnings.failed(about, "A release's log cannot be read for the log drain.", { ...subject, error });
        }
      }
      await pause(Math.min(2 ** rounds / 2, REREAD_SECONDS_MAX), signal);
    }
  }

  #bufferedLine(serverName: string, release: DrainedRelease, read: LogLine): BufferedLine {
    const { cursor, line, moment, container } = read;
    return {
      deploymentId: release.deployment_id,
      resourceId: release.resource_id,
      since: release.since,
      cursor,
      line: {
        moment: moment ?? this.#deps.clock.now().toISOString(),
        line,
        container,
        source: {
          server_name: serverName,
          project_name: release.project_name,
          environment_name: release.environment_name,
          resource_kind: release.resource_kind,
          resource_name: release.resource_name,
          resource_uuid: release.resource_uuid,
          deployment_uuid: release.deployment_uuid,
          pull_request_id: release.pull_request_id,
        },
      },
    };
  }
}

function linesOf(engine: Engine, release: DrainedRelease, query: LogQuery, signal: AbortSignal) {
  const ref = { resourceUuid: release.resource_uuid, deploymentUuid: release.deployment_uuid };
  return engine.logs(ref, { ...query, follow: true, container: ALL_CONTAINERS, signal });
}

/** Where the reading of a release begins of which nothing was delivered yet. */
const firstQuery = ({ created_at, since }: DrainedRelease): LogQuery =>
  created_at >= since ? {} : { since: since.toISOString(), lines: EARLIER_LINES_MAX };

const LAST_LINES_SECONDS = 5;
const REREAD_SECONDS_MAX = 5;
/** Printed between the moment when a log drain was turned on and the beginning of the reading. */
const EARLIER_LINES_MAX = 20_000;
