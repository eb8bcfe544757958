import { DomainError } from "@berth/core";
import { queueFull, type ServerPart } from "@berth/core/deploy";
import type {
  ApplicationRecord,
  DeploymentRecord,
  KeptBuild,
  NewDeployment,
  PreviewRecord,
  ResourceRecord,
  Stores,
} from "@berth/core/ports";
import { RESOURCE_KINDS } from "@berth/core/resource";
import { resourceOn, type UseCaseContext } from "./context.ts";

export interface DeploymentRequest {
  /** For an application, create the request by `applicationRequest`, which adds the other fields. */
  readonly resource: ResourceRecord;
  readonly isForced?: boolean | undefined;
  /** Runs the live release again instead of building: always, or only if a rollback chose an older build. */
  readonly isRestart?: boolean | "after_rollback" | undefined;
  /** Of a service: leaves containers running that have not changed, even if none has. */
  readonly keepsUnchanged?: boolean | undefined;
  /** Starts at once, ignoring other deployments; only the limit of the queue applies. */
  readonly isInstant?: boolean | undefined;
  /** Default `HEAD`: the newest commit. */
  readonly commit?: string | undefined;
  /** Deploys this preview, opened in the same transaction, instead of the application itself. */
  readonly preview?: PreviewRecord | undefined;
  /** Runs this kept build instead of building. */
  readonly rollbackTo?: Pick<KeptBuild, "built_by" | "commit"> | undefined;
  /** Uuid of the only server to deploy to. Default: each server of the application. */
  readonly serverUuid?: string | undefined;
  /** Kind of the host whose webhook requests it. */
  readonly gitType?: string | undefined;
}

export interface Requested {
  readonly deployment: DeploymentRecord;
  /** Another deployment of the same commit is waiting or running. */
  readonly isDuplicate: boolean;
  /** To the other servers of the application, in their order. */
  readonly following: readonly Requested[];
}

/**
 * Queues all of them or none. Must run in a transaction, which an error reverts.
 *
 * @returns One for each request; those to further servers of an application are its following.
 * @throws DomainError `queue.full`, `resource.state`, `source.not_found`, `resource.not_found` for a
 * server that the resource is not deployed to
 */
export async function requestDeployments(
  { ids }: Pick<UseCaseContext, "ids">,
  tx: Stores,
  requests: readonly DeploymentRequest[],
): Promise<readonly Requested[]> {
  const wanted: NewDeployment[][] = [];
  for (const request of requests) {
    const group: NewDeployment[] = [];
    for (const place of await placesOf(tx, request)) {
      const part = { ...place, resource_id: request.resource.id };
      group.push({ ...(await newDeployment(ids.uuid(), tx, request, part)), follows: group[0]?.uuid ?? null });
    }
    wanted.push(group);
  }
  const outcomes = await tx.deployments.enqueue(wanted.flat());
  const all = outcomes.map((outcome): Requested => {
    if (outcome.outcome === "full") throw queueFull();
    return { deployment: outcome.deployment, isDuplicate: outcome.outcome === "duplicate", following: [] };
  });
  const requested = wanted.flatMap(({ length }): Requested[] => {
    const [first, ...following] = all.splice(0, length);
    return first === undefined ? [] : [{ ...first, following }];
  });
  for (const { resource, preview } of requests) {
    // A deployment means that the resource should run, also after a restart of the control plane. A preview runs
    // anyway, and must not start an application that was stopped.
    if (preview === undefined && resource.desired_state !== "running")
      await tx.resources.setDesiredState(resource.id, "running");
  }
  return requested;
}

/**
 * A request for an application: of its configured commit unless another is requested; for a pull request of its
 * newest one.
 * @throws DomainError `source.not_found`
 */
export function applicationRequest(
  application: SourceOf,
  request: Omit<DeploymentRequest, "resource"> = {},
): DeploymentRequest {
  requireSource(application);
  const commit = request.commit ?? (request.preview === undefined ? application.settings.git_commit_sha : "HEAD");
  return { ...request, resource: application, commit };
}

/** A single request. @see requestDeployments */
export async function requestDeployment(
  context: Pick<UseCaseContext, "ids">,
  tx: Stores,
  request: DeploymentRequest,
): Promise<Requested> {
  const [requested] = await requestDeployments(context, tx, [request]);
  if (requested === undefined) throw new DomainError("internal.error", "The queue answered nothing.");
  return requested;
}

export const DUPLICATE_MESSAGE = "Deployment already queued for this commit.";

type DeploymentTarget = Pick<ResourceRecord, "server_id" | "destination_id">;

/** Where the request deploys to, the primary server first. */
async function placesOf(
  tx: Stores,
  { resource, preview, serverUuid }: DeploymentRequest,
): Promise<readonly DeploymentTarget[]> {
  if (serverUuid !== undefined) return [await resourceOn(tx, resource, serverUuid)];
  if (resource.kind !== "application" || preview !== undefined) return [resource];
  const destinations = await tx.applicationDestinations.list(resource.id);
  return destinations.length === 0 ? [resource] : destinations;
}

/** The kept build of a rollback on one server; a server that lacks one builds the commit. */
async function buildOn(tx: Stores, part: ServerPart, { resource, rollbackTo }: DeploymentRequest) {
  if (rollbackTo === undefined || part.server_id === resource.server_id) return rollbackTo;
  return (await tx.releases.builds(part)).find(({ commit }) => commit === rollbackTo.commit);
}

async function newDeployment(
  uuid: string,
  tx: Stores,
  request: DeploymentRequest,
  { resource_id, server_id, destination_id }: DeploymentTarget & ServerPart,
): Promise<Omit<NewDeployment, "follows">> {
  const {
    resource,
    preview,
    isForced = false,
    isRestart = false,
    isInstant = false,
    keepsUnchanged = false,
    gitType,
  } = request;
  if (resource.removing_at !== null) {
    const sentence = `${RESOURCE_KINDS[resource.kind].title} ${resource.name} is being removed, so it cannot be deployed.`;
    throw new DomainError("resource.state", sentence);
  }
  // Without a release there is nothing to restart, so it is built as for a deployment.
  const part = { resource_id, server_id };
  const hasRelease =
    isRestart === "after_rollback"
      ? await isRolledBack(tx, part)
      : isRestart && (await tx.releases.live({ ...part, pull_request_id: 0 })) !== undefined;
  const rollbackTo = await buildOn(tx, part, request);
  return {
    uuid,
    ...part,
    destination_id,
    pull_request_id: preview?.pull_request_id ?? 0,
    commit: request.rollbackTo?.commit ?? request.commit ?? "HEAD",
    force_rebuild: isForced,
    restart_only: hasRelease,
    keeps_unchanged: keepsUnchanged,
    rollback: rollbackTo !== undefined,
    rollback_to: rollbackTo?.built_by ?? null,
    is_webhook: gitType !== undefined,
    is_api: gitType === undefined,
    git_type: gitType ?? preview?.git_type ?? null,
    docker_registry_image_tag: preview?.docker_registry_image_tag ?? null,
    is_instant: isInstant,
  };
}

/** Whether its release is an older build than the newest that finished. */
async function isRolledBack(tx: Stores, part: ServerPart): Promise<boolean> {
  const [running, ...others] = await tx.releases.builds(part);
  return running?.is_current === true && others.some(({ created_at }) => created_at > running.created_at);
}

interface SourceOf extends ResourceRecord, Pick<ApplicationRecord, "source"> {
  readonly settings: Pick<ApplicationRecord["settings"], "git_commit_sha">;
}

function requireSource({ name, uuid, source, settings, removing_at }: SourceOf): void {
  if (removing_at === null && source === "upload" && settings.git_commit_sha === "HEAD") {
    const path = `/api/v1/applications/${uuid}/source`;
    throw new DomainError("source.not_found", `Application ${name} has no source yet. Upload it first: PUT ${path}.`);
  }
}
