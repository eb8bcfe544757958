import { isServerAway } from "@berth/core";
import { siteIdOf } from "@berth/core/deploy";
import type { MeasuredRelease, ReleaseRecord, ServerRecord } from "@berth/core/ports";
import { type AnswerReading, METRICS_KEPT_HOURS, metricOf, type UsageReading } from "@berth/core/schedule";
import pLimit from "p-limit";
import { autoscale } from "./autoscaler.ts";
import { createLoops } from "./loop.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import type { WorkerSettings } from "./settings.ts";
import { within } from "./wait.ts";

export interface SamplerDeps extends Pick<WorkerDeps, "stores" | "clock" | "logger" | "ownsServer"> {
  readonly settings: Pick<WorkerSettings, "metricsSeconds">;
  readonly serverLeases: Pick<ServerLeases, "acquire">;
  adaptersOf(server: ServerRecord): ServerAdapters;
}

export interface Sampler {
  start(): void;
  stop(): Promise<void>;
}

/** Samples the usage of live releases. The control plane that has a server's lease samples it. */
export function createSampler({
  stores,
  clock,
  logger,
  ownsServer,
  settings,
  serverLeases,
  adaptersOf,
}: SamplerDeps): Sampler {
  /** The last readings of each server, by resource id. */
  const readings = new Map<number, ReadonlyMap<number, UsageReading>>();
  /** Servers that are sampled or will be. */
  const busy = new Set<number>();
  const inTurn = pLimit(SERVERS_AT_ONCE);
  let isStopping = false;

  const sample = async () => {
    const servers = (await stores.servers.list()).filter((server) => ownsServer(server));
    forgetOthers(servers);
    const own = await held(servers.filter((server) => !busy.has(server.id)));
    const live = own.length === 0 ? [] : await stores.releases.listMeasured(own.map(idOf));
    const releasesOf = Map.groupBy(live, ({ server_id }) => server_id);
    for (const { id } of own) busy.add(id);
    const work = own.map((server) => inTurn(() => sampleServer(server, releasesOf.get(server.id) ?? [])));
    // An engine that does not answer delays the next round of no other.
    await within(settings.metricsSeconds, Promise.all(work));
    await stores.metrics.prune(new Date(clock.now().getTime() - METRICS_KEPT_HOURS * 3_600_000));
  };

  const held = async (servers: readonly ServerRecord[]): Promise<readonly ServerRecord[]> => {
    const isHeld = await Promise.all(servers.map(({ id }) => serverLeases.acquire(id)));
    return servers.filter((_server, at) => isHeld[at]);
  };

  const forgetOthers = (servers: readonly ServerRecord[]) => {
    const ids = new Set(servers.map(({ id }) => id));
    for (const id of [...readings.keys()]) if (!ids.has(id)) readings.delete(id);
  };

  const sampleServer = async (server: ServerRecord, releases: readonly MeasuredRelease[]) => {
    const before = readings.get(server.id);
    readings.delete(server.id);
    try {
      if (isStopping) return;
      const { engine, proxy } = adaptersOf(server);
      const answered = await answersOf(server, releases, proxy).catch((error: unknown) => {
        warnUnlessAway("The requests of a server could not be counted.", server, error);
        return undefined;
      });
      const measured = await pLimit(CONCURRENT_MAX).map(releases, async (release) => {
        const used = await engine.usage({
          resourceUuid: release.resource_uuid,
          deploymentUuid: release.deployment_uuid,
        });
        if (used === undefined) return undefined;
        const { deployment_uuid: deploymentUuid, resource_id } = release;
        return {
          release,
          reading: { at: clock.now(), deploymentUuid, usage: used, answered: answered?.get(resource_id) },
        };
      });
      const found = measured.filter((each) => each !== undefined);
      const rows = found.map(({ release: { resource_id }, reading }) => ({
        ...metricOf(before?.get(resource_id), reading),
        resource_id,
      }));
      readings.set(server.id, new Map(found.map(({ release, reading }) => [release.resource_id, reading])));
      await stores.metrics.insert(rows);
      const ids = rows.map(({ resource_id }) => resource_id);
      if (engine.capabilities.replicas)
        await autoscale({ stores, clock, logger, sampleSeconds: settings.metricsSeconds }, ids);
    } catch (error) {
      warnUnlessAway("The resource usage of a server could not be measured.", server, error);
    } finally {
      busy.delete(server.id);
    }
  };

  /** What was answered for releases by resource, without those whose replaced release still answers requests. */
  const answersOf = async (
    server: ServerRecord,
    releases: readonly MeasuredRelease[],
    proxy: ServerAdapters["proxy"],
  ): Promise<ReadonlyMap<number, AnswerReading>> => {
    const { run, bySite } = (await proxy.answered()) ?? { run: "", bySite: new Map<string, number>() };
    if (bySite.size === 0) return new Map();
    const at = clock.now();
    const retiring = await stores.releases.listByRole("retiring", [server.id]);
    const mixed = new Set(retiring.filter(isOwnRelease).map(({ resource_id }) => resource_id));
    return new Map(
      releases.flatMap(({ resource_id, resource_uuid }) => {
        const count = bySite.get(siteIdOf(resource_uuid, 0));
        return count === undefined || mixed.has(resource_id) ? [] : [[resource_id, { at, run, count }] as const];
      }),
    );
  };

  const warnUnlessAway = (message: string, server: ServerRecord, error: unknown) => {
    if (!isServerAway(error)) logger.warn(message, { server: server.name, error });
  };

  const loops = createLoops(logger, [
    { title: "The sampling of resource usage", work: sample, seconds: () => settings.metricsSeconds },
  ]);
  return {
    start: () => loops.start(),
    stop() {
      isStopping = true;
      return loops.stop();
    },
  };
}

/** Old engines take a second for each answer, and many at once would load the server. */
const CONCURRENT_MAX = 4;
/** Each call in flight costs some 30 KB of memory, and of a thousand servers all would be called at once. */
const SERVERS_AT_ONCE = 32;
const idOf = ({ id }: ServerRecord) => id;
/** Excludes releases of previews. */
const isOwnRelease = ({ pull_request_id }: ReleaseRecord) => pull_request_id === 0;
