import { DomainError, isDomainError } from "@berth/core";
import { inlineSecrets } from "@berth/core/compose";
import {
  type Artifact,
  deployedKind,
  isTerminal,
  type Operation,
  type ReleaseRef,
  type ServerPart,
} from "@berth/core/deploy";
import { requireReachable } from "@berth/core/env";
import type { SystemStores, WorkIO } from "@berth/core/ports";
import { withPublicUrls } from "./claims.ts";
import { assertOwnedByTeam } from "./deploy/belongings.ts";
import { secretsOf, valuesByKey } from "./deploy/secrets.ts";
import { variablesOf } from "./deploy/variables.ts";
import { recordVolumes } from "./deploy/volume-record.ts";
import { lostImages, pullMissingImages } from "./lost-image.ts";
import type { WorkerDeps } from "./ports.ts";
import { removePreview } from "./preview-removal.ts";
import { removeResource } from "./removal.ts";
import { retire } from "./retire.ts";
import { scaleLive } from "./scale.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import { STOP_GRACE_SECONDS, type WorkerSettings } from "./settings.ts";
import { stopGraceSeconds } from "./stop-grace.ts";

export interface OperationDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  /** Called when a live release was started, or could not be scaled, so that the next attempt waits. */
  onStart(deploymentUuid: string): void;
  /** Called when a live release could not be started, with the reason. */
  onStartFailed(deploymentUuid: string, problem: string): void;
  /** Called when a release was renamed, so that the next attempt waits. */
  onName(deploymentUuid: string): void;
  /** Deployment uuids of releases whose image cannot be pulled again; their drift was reported. */
  readonly imageless: Set<string>;
  /** Called when a release was stopped after too many restarts, so that its count starts anew. */
  onGiveUp(deploymentUuid: string): void;
}

/**
 * Operations on a server with the same key must not run at the same time. Retiring waits for requests, so it has a key of its own.
 */
export function lockKey(operation: Operation): string {
  switch (operation.type) {
    case "retire":
      return `retire ${operation.deploymentId}`;
    case "remove":
      return `release ${operation.release.deploymentUuid}`;
    case "discard":
    case "supersede":
    case "set_upstream":
      return `deployment ${operation.deploymentId}`;
    case "unroute":
      return `site ${operation.siteId}`;
    case "set_preview_status":
      return `preview ${operation.previewId}`;
    case "remove_preview":
      return `preview ${operation.pullRequestId} of resource ${operation.resourceId}`;
    case "stop":
      return operation.resourceId === null
        ? `release ${operation.release.deploymentUuid}`
        : `resource ${operation.resourceId}`;
    default:
      return `resource ${operation.resourceId}`;
  }
}

/** Applies an operation. Conditions that may have changed since the plan are checked again. */
export async function applyOperation(
  deps: OperationDeps,
  adapters: ServerAdapters,
  operation: Operation,
  signal: AbortSignal,
): Promise<void> {
  const { stores } = deps;
  switch (operation.type) {
    case "start":
      return await startLive(deps, adapters, operation, signal);
    case "scale":
      return await scaleLive(deps, adapters, operation, signal);
    case "stop":
      return await adapters.engine.stop(operation.release, {
        graceSeconds: await graceOf(stores, operation.resourceId),
      });
    case "remove":
      return await removeUnrecorded(deps, adapters, operation);
    case "discard":
      return await discard(stores, adapters, operation);
    case "supersede":
      return await stores.releases.supersede(operation.deploymentId);
    case "retire":
      return await retire(deps, adapters, operation, signal);
    case "route":
      return void (await adapters.router.route(operation));
    case "unroute":
      return await adapters.router.unroute(operation.siteId);
    case "take_name":
      return await takeName(deps, adapters, operation);
    case "set_upstream":
      return await stores.releases.setUpstream(operation.deploymentId, operation.upstream);
    case "set_status":
      return await stores.resources.setStatus(partOf(adapters, operation), operation.status, operation);
    case "set_statuses":
      return await stores.services.setStatuses(operation.resourceId, operation);
    case "give_up":
      return await giveUp(deps, adapters, operation);
    case "set_restarts":
      return await setRestarts(deps, adapters, operation);
    case "end_scale_problem":
      return void (await stores.resources.setScaleProblem(partOf(adapters, operation), null));
    case "remove_resource":
      return void (await removeResource(deps, adapters, operation.resourceId));
    case "set_preview_status":
      return await stores.previews.setStatus(operation.previewId, operation.status);
    case "remove_preview":
      return void (await removePreview(deps, adapters, operation.resourceId, operation.pullRequestId));
  }
}

/** @throws DomainError `engine.failed` if the release is another server's, whose engine this one uses too. */
async function removeUnrecorded(
  { stores }: OperationDeps,
  { server, engine }: ServerAdapters,
  { release }: Extract<Operation, { type: "remove" }>,
): Promise<void> {
  const { resourceUuid, deploymentUuid } = release;
  const recordedOn = await stores.releases.serverOf(deploymentUuid);
  if (recordedOn === server.id) return;
  if (recordedOn !== undefined) {
    const message = `Release ${deploymentUuid} of ${resourceUuid} runs on server ${server.name}, but is recorded on another server. Nothing was removed. Delete one of the two servers if they are the same machine.`;
    throw new DomainError("engine.failed", message);
  }
  await engine.remove(release);
}

const PROBLEM_LENGTH_MAX = 2000;

/** Without the texts that logs hide too: an engine may quote a command, in which variables are replaced. */
function startProblem(error: unknown, hidden: () => readonly string[], redactor: WorkerDeps["redactor"]): string {
  if (!isDomainError(error)) return "It could not be started because of an internal error; Berth's own log has it.";
  return redactor(hidden())(error.message).slice(0, PROBLEM_LENGTH_MAX);
}

/** A difference from the recorded state, with its remedy where Berth does not repair it. */
type Drift =
  | { readonly drift: "release_missing" }
  | { readonly drift: "image_missing"; readonly remedy: "deploy"; readonly reason: string };

async function startLive(
  deps: OperationDeps,
  adapters: ServerAdapters,
  { release, deploymentId, resourceId }: Extract<Operation, { type: "start" }>,
  signal: AbortSignal,
): Promise<void> {
  const { engine, server } = adapters;
  const { stores, onStart, logger } = deps;
  onStart(release.deploymentUuid);
  const [record, deployment] = await Promise.all([
    stores.releases.find(deploymentId),
    stores.deployments.find(deploymentId),
  ]);
  if (record?.role !== "live" || deployment === undefined) return;
  const isPreview = record.pull_request_id !== 0;
  const { subject, domains = null } = (await stores.resources.routing(record)) ?? {};
  if (domains === null || subject?.record.removing_at !== null || subject.record.server_id !== server.id) return;
  if (subject.record.desired_state !== "running" && !isPreview) return;
  const team = stores.forTeam(subject.record.team_id);
  // Resumes it as it was: settings changed since wait for the next deployment, as they may have made one fail.
  const resumed = await engine.resume(release);
  if (resumed !== undefined) {
    await stores.releases.setUpstream(deploymentId, resumed.upstream);
    return logger.info("Resumed a release that should run.", { ...release });
  }
  const isGone = (await engine.inspect(release)) === undefined;
  const [variables, storages] = await Promise.all([variablesOf(team, record), team.storages.list(resourceId)]);
  const { envs } = variables;
  const kind = deployedKind(subject);
  // The container was removed by someone other than Berth.
  const emitDrift = (drift: Drift) => {
    const { kind, name, uuid } = subject.record;
    const payload = { resource_kind: kind, resource_name: name, ...drift };
    return team.events.append({ type: "resource.drifted", resource_uuid: uuid, payload });
  };
  const start = async () => {
    requireReachable(variables, isPreview);
    const told = withPublicUrls(domains, adapters.proxy);
    const input = { subject, deployment, domains: told, envs, storages: storages.items };
    const spec = kind.releaseSpec(input, record.artifact);
    await assertOwnedByTeam({ stores, adapters, teamId: subject.record.team_id }, spec);
    await regainImages(deps, engine, { artifact: record.artifact, release, emitDrift, signal });
    return { spec, started: await engine.start(spec, quietIo(signal)) };
  };
  const { spec, started } = await start().catch((error: unknown) => {
    const inline = () => inlineSecrets(kind.composeText(subject) ?? "", valuesByKey(envs));
    const hidden = () =>
      secretsOf({ ...variables, own: kind.secretTexts(subject), inline: inline(), domains, subject });
    // A start that was ended says nothing about the release.
    if (!signal.aborted) deps.onStartFailed(release.deploymentUuid, startProblem(error, hidden, deps.redactor));
    throw error;
  });
  const { upstream } = started;
  await recordVolumes(stores, subject.record, spec);
  await stores.releases.setUpstream(deploymentId, upstream);
  if (isGone) await emitDrift({ drift: "release_missing" });
  logger.info("Started a release that should run.", { ...release });
}

interface Regained {
  readonly artifact: Artifact;
  readonly release: ReleaseRef;
  readonly emitDrift: (drift: Drift) => Promise<unknown>;
  readonly signal: AbortSignal;
}

async function regainImages(
  { imageless }: OperationDeps,
  engine: ServerAdapters["engine"],
  { artifact, release, emitDrift, signal }: Regained,
): Promise<void> {
  try {
    await pullMissingImages(engine, await lostImages(engine, artifact), quietIo(signal));
    imageless.delete(release.deploymentUuid);
  } catch (error) {
    // Retried later, since the registry may come back, but reported only once.
    if (isDomainError(error, "deploy.start_failed") && !imageless.has(release.deploymentUuid)) {
      await emitDrift({ drift: "image_missing", remedy: "deploy", reason: error.message });
      imageless.add(release.deploymentUuid);
    }
    throw error;
  }
}

/** The output is dropped: a restart by the reconciler belongs to no deployment. */
const quietIo = (signal: AbortSignal): WorkIO => ({ signal, onLine: () => undefined });

async function discard(
  stores: SystemStores,
  { engine }: ServerAdapters,
  { deploymentId, release }: { readonly deploymentId: number; readonly release: ReleaseRef },
): Promise<void> {
  // The deployment may have been claimed since the plan was made.
  const [deployment, record] = await Promise.all([
    stores.deployments.find(deploymentId),
    stores.releases.find(deploymentId),
  ]);
  if (record?.role !== "candidate" || (deployment !== undefined && !isTerminal(deployment.status))) return;
  await engine.remove(release);
  await stores.releases.delete(deploymentId);
}

/** Skipped when it was replaced since the plan was made: the name then belongs to its successor. */
async function takeName(
  { stores, onName }: OperationDeps,
  { engine }: ServerAdapters,
  { release, deploymentId }: Extract<Operation, { type: "take_name" }>,
): Promise<void> {
  onName(release.deploymentUuid);
  if ((await stores.releases.find(deploymentId))?.role === "live") await engine.takeName(release);
}

/** Skipped when it was stopped or replaced since the plan was made. */
async function giveUp(
  { stores, onGiveUp, logger }: OperationDeps,
  { server }: ServerAdapters,
  { resourceId, release, restartCount, restartCountMax }: Extract<Operation, { type: "give_up" }>,
): Promise<void> {
  await stores.transaction(async (tx) => {
    const resource = await tx.resources.find(resourceId);
    const part = { resource_id: resourceId, server_id: server.id };
    const live = await tx.releases.live({ ...part, pull_request_id: 0 });
    if (resource?.desired_state !== "running" || live?.deployment_uuid !== release.deploymentUuid) return;
    const team = tx.forTeam(resource.team_id);
    // On its other servers, an application continues to run.
    const reason = `It restarted ${restartCount} times in a row, more than its limit of ${restartCountMax}, and was stopped. Its log says why it ended. Start it again, or deploy it mended.`;
    if (!(await tx.resources.giveUp(part))) await team.resources.setDesiredState(resourceId, "stopped", reason);
    const payload = {
      server_name: server.name,
      ...{ resource_kind: resource.kind, resource_name: resource.name },
      ...{ restart_count: restartCount, max_restart_count: restartCountMax },
    };
    await team.events.append({ type: "resource.restart_limit_reached", resource_uuid: resource.uuid, payload });
  });
  onGiveUp(release.deploymentUuid);
  logger.info("Stopped a release that restarts too often.", { ...release, restartCount, restartCountMax });
}

async function setRestarts(
  { stores, clock }: OperationDeps,
  adapters: ServerAdapters,
  { resourceId, restartCount }: Extract<Operation, { type: "set_restarts" }>,
): Promise<void> {
  const last_restart_at = restartCount === 0 ? null : clock.now();
  await stores.resources.setRestarts(partOf(adapters, { resourceId }), {
    restart_count: restartCount,
    last_restart_at,
  });
}

const partOf = ({ server }: ServerAdapters, { resourceId }: { readonly resourceId: number }): ServerPart => ({
  resource_id: resourceId,
  server_id: server.id,
});

async function graceOf(stores: SystemStores, resourceId: number | null): Promise<number> {
  return resourceId === null ? STOP_GRACE_SECONDS : await stopGraceSeconds(stores, resourceId);
}
