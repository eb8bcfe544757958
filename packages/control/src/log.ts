import { DomainError, isDomainError, notFound } from "@berth/core";
import { isContainerOf } from "@berth/core/compose";
import { ALL_CONTAINERS, isReleaseLogTitle, type LiveKey, liveKeyOf, namedLine, REPLICA } from "@berth/core/deploy";
import type { LogQuery, ReleaseRecord, ResourceRecord } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceRef } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import { type ControlEngine, engineOf, findResource, resourceOn, type UseCaseContext } from "./context.ts";
import { noContainer, requireContainerOf } from "./named-container.ts";
import { whileTokenWorks } from "./token-watch.ts";

/** A line of a resource's output. */
export interface FollowedLine {
  /** Opaque; resumes after a lost connection. */
  readonly cursor: string;
  readonly line: string;
  /** When it was printed, if the engine knows. */
  readonly moment?: string;
  /** The container that printed it, in the log of several replicas. */
  readonly container?: string;
  readonly deployment_uuid: string;
}

/** Lines read from the end of a deployment's log: the output of its release, and the steps that undo it. */
const LOG_LINES_MAX = 200;

/** The line that ends the step in which the release failed. */
const STEP_END = /^(start|health) ended after /;

/** How often a follower checks whether another release is live. */
const TAKEOVER_CHECK_SECONDS = 1;

/** Source of a log. Default: all replicas of an application; of a service the first container that receives requests. */
export interface LogSource {
  readonly container?: string | undefined;
  /** Only output since this time, in RFC 3339 and UTC. */
  readonly since?: string | undefined;
  /** Uuid of one of the servers of an application. Default: the primary one. */
  readonly serverUuid?: string | undefined;
  /** The preview of this pull request of an application. Default 0: the application itself. */
  readonly pullRequestId?: number | undefined;
}

export interface TailOptions extends LogSource {
  /** Puts the time before each line, if the engine knows it. */
  readonly hasTimestamps?: boolean | undefined;
  /** For a stopped resource: the output of its last run. */
  readonly previous?: boolean | undefined;
}

/** Logs of resources of every kind. */
export function logs(context: UseCaseContext) {
  const { scope, stores } = context;
  /** @throws DomainError `resource.not_found` */
  async function requireContainer(resource: ResourceRecord, container: string | undefined): Promise<void> {
    if (container === undefined || container === ALL_CONTAINERS) return;
    const containers = await stores.services.containers([resource.id]);
    const names = containers.map(({ name }) => name);
    if (names.length > 0 && !isContainerOf(names, container)) throw noContainer(resource, names, container);
  }

  /** @throws DomainError `resource.not_found` for a container that the running release lacks */
  async function requireRunning(
    engine: ControlEngine,
    resource: ResourceRecord,
    release: ReleaseRecord,
    container: string | undefined,
  ): Promise<void> {
    if (container === undefined || container === ALL_CONTAINERS) return;
    const state = await engine.inspect(refOf(release));
    if (state !== undefined) requireContainerOf(resource, state, container);
  }

  /** Of an application that does not run. @throws DomainError `resource.not_found` for a container that it cannot have */
  async function requirePossible({ kind, uuid, name }: ResourceRecord, container: string | undefined): Promise<void> {
    if (container === undefined || container === ALL_CONTAINERS || isContainerOf([REPLICA], container)) return;
    const application = kind === "application" ? await stores.applications.find(uuid) : undefined;
    // Containers of a compose file are recorded with its releases.
    if (application === undefined || application.settings.build_pack === "dockercompose") return;
    throw noContainer({ kind, name }, [], container);
  }

  /** The live release, else the candidate: its output shows why its start takes long. */
  const shownRelease = async (key: LiveKey) =>
    (await stores.releases.live(key)) ?? (await stores.releases.candidate(key));

  /** The resource on the named server, and the key of its release, or of that of its preview. */
  async function located(ref: ResourceRef, { serverUuid, container, pullRequestId = 0 }: LogSource) {
    const resource = await resourceOn(stores, await findResource(stores, ref), serverUuid);
    if (pullRequestId !== 0 && (await stores.previews.find(resource.id, pullRequestId)) === undefined)
      throw notFound("Preview");
    // Those of a preview are known by what runs.
    if (pullRequestId === 0) await requireContainer(resource, container);
    return { resource, key: liveKeyOf(resource, pullRequestId) };
  }

  /** Output of a release that failed to start and was removed: the deployment's log has its last lines. */
  async function lastWords(resource: ResourceRecord, { pull_request_id }: LiveKey, lines: number): Promise<string> {
    const { items } = await stores.deployments.listByResource(resource.id, { pull_request_id }, { take: 1 });
    const [newest] = items;
    if (newest?.status !== "failed" || isMeantToStop(resource, pull_request_id)) throw notRunning(resource);
    const log = (await stores.deployments.log(newest.id, { last: LOG_LINES_MAX })).filter(({ hidden }) => !hidden);
    const begin = log.findLastIndex(({ output }) => isReleaseLogTitle(output));
    if (begin === -1) throw notRunning(resource);
    const written = log.slice(begin + 1).map(({ output }) => output);
    const end = written.findIndex((line) => STEP_END.test(line));
    return written
      .slice(0, end === -1 ? undefined : end)
      .slice(-lines)
      .join("\n");
  }

  return {
    /** The last lines. @throws DomainError `resource.not_running` */
    async tail(ref: ResourceRef, lines: number, source: TailOptions = {}): Promise<{ logs: string }> {
      requireAbility(scope, "read");
      const { resource, key } = await located(ref, source);
      const release = await shownRelease(key);
      const isWanted = source.previous === true || !isMeantToStop(resource, key.pull_request_id);
      const isStopped = release?.role === "live" && !isWanted;
      if (release === undefined || isStopped) {
        await requirePossible(resource, source.container);
        return { logs: await lastWords(resource, key, lines) };
      }
      const engine = await engineOf(context, resource);
      await requireRunning(engine, resource, release, source.container);
      const texts: string[] = [];
      try {
        for await (const line of engine.logs(refOf(release), { lines, ...sourceOf(source) })) {
          const { moment } = line;
          texts.push(source.hasTimestamps && moment !== undefined ? `${moment} ${namedLine(line)}` : namedLine(line));
        }
      } catch (gone) {
        throw isDomainError(gone, "resource.not_found") ? notRunning(ref) : gone;
      }
      return { logs: texts.join("\n") };
    },

    /**
     * The last `lines`, or those after `after`, and then new ones, from one release to the next, until `signal` fires
     * or the token becomes invalid.
     * @throws DomainError `resource.not_running`
     */
    async follow(ref: ResourceRef, options: FollowOptions): Promise<AsyncIterable<FollowedLine>> {
      requireAbility(scope, "read");
      const { resource, key } = await located(ref, options);
      const release = await shownRelease(key);
      if (release === undefined) throw notRunning(ref);
      const engine = await engineOf(context, resource);
      await requireRunning(engine, resource, release, options.container);
      const live = () => stores.releases.live(key);
      return whileTokenWorks({ scope, stores }, options.signal, (signal) =>
        followReleases(engine, live, release, { ...options, signal }),
      );
    },
  };
}

interface FollowOptions extends LogSource {
  readonly lines: number;
  readonly after: string | undefined;
  readonly signal: AbortSignal;
}

const sourceOf = ({ container, since }: LogSource) => ({
  ...(container === undefined ? {} : { container }),
  ...(since === undefined ? {} : { since }),
});

const refOf = ({ resource_uuid, deployment_uuid }: ReleaseRecord) => ({
  resourceUuid: resource_uuid,
  deploymentUuid: deployment_uuid,
});

/** Previews run until they are deleted, also while their application is stopped. */
const isMeantToStop = ({ desired_state }: ResourceRecord, pullRequestId: number): boolean =>
  pullRequestId === 0 && desired_state === "stopped";

const notRunning = ({ kind }: ResourceRef) =>
  new DomainError("resource.not_running", `${RESOURCE_KINDS[kind].title} is not running.`);

async function* followReleases(
  engine: ControlEngine,
  live: () => Promise<ReleaseRecord | undefined>,
  first: ReleaseRecord,
  { lines, after, signal, ...source }: FollowOptions,
): AsyncGenerator<FollowedLine, void> {
  const resumed = after?.startsWith(`${first.deployment_uuid}:`)
    ? after.slice(first.deployment_uuid.length + 1)
    : undefined;
  let release: ReleaseRecord | undefined = first;
  const own = sourceOf({ container: source.container });
  let query: LogQuery = { lines, ...sourceOf(source) };
  if (resumed !== undefined) query = { after: resumed, ...own };
  // Another release became live while the follower was disconnected: all of its output is new.
  else if (after !== undefined) query = { lines: ALL_LINES, ...own };
  while (release !== undefined && !signal.aborted) {
    yield* followRelease(engine, live, release, query, signal);
    release = await nextRelease(live, release, signal);
    query = { lines: ALL_LINES, ...own };
  }
}

/** More than any engine keeps. */
const ALL_LINES = 1_000_000;

/** Ends when another release is live and the output of this one until then was returned. */
async function* followRelease(
  engine: ControlEngine,
  live: () => Promise<ReleaseRecord | undefined>,
  release: ReleaseRecord,
  query: LogQuery,
  signal: AbortSignal,
): AsyncGenerator<FollowedLine, void> {
  const ended = new AbortController();
  const end = () => ended.abort();
  signal.addEventListener("abort", end, { once: true });
  const watch = setInterval(async () => {
    const now = await live().catch(() => release);
    if (now !== undefined && now.deployment_id !== release.deployment_id) end();
  }, TAKEOVER_CHECK_SECONDS * 1000);
  try {
    for await (const { cursor, line, moment, container } of engine.logs(refOf(release), {
      ...query,
      follow: true,
      signal: ended.signal,
    })) {
      const place = { cursor: `${release.deployment_uuid}:${cursor}`, deployment_uuid: release.deployment_uuid };
      const origin = { ...(moment === undefined ? {} : { moment }), ...(container === undefined ? {} : { container }) };
      yield { ...place, line, ...origin };
    }
  } catch (gone) {
    // It was removed between reading the live release and reading its output.
    if (!isDomainError(gone, "resource.not_found")) throw gone;
  } finally {
    clearInterval(watch);
    signal.removeEventListener("abort", end);
  }
}

async function nextRelease(
  live: () => Promise<ReleaseRecord | undefined>,
  previous: ReleaseRecord,
  signal: AbortSignal,
): Promise<ReleaseRecord | undefined> {
  while (!signal.aborted) {
    const now = await live();
    if (now === undefined || now.deployment_id !== previous.deployment_id) return now;
    await delay(TAKEOVER_CHECK_SECONDS, signal);
  }
  return undefined;
}

function delay(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, seconds * 1000);
    signal.addEventListener("abort", done, { once: true });
  });
}
