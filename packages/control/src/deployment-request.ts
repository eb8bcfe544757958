import { DomainError } from "@berth/core";
import { liveKeyOf, queueFull } from "@berth/core/deploy";
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
import type { UseCaseContext } from "./context.ts";

export interface DeploymentRequest {
  /** For an application, create the request by `applicationRequest`, which adds the other fields. */
  readonly resource: ResourceRecord;
  readonly isForced?: boolean | undefined;
  readonly isRestart?: boolean | undefined;
  /** Starts at once, ignoring other deployments; only the limit of the queue applies. */
  readonly isInstant?: boolean | undefined;
  /** Default `HEAD`: the newest commit. */
  readonly commit?: string | undefined;
  /** Deploys this preview, opened in the same transaction, instead of the application itself. */
  readonly preview?: PreviewRecord | undefined;
  /** Runs this kept build instead of building. */
  readonly rollbackTo?: Pick<KeptBuild, "built_by" | "commit"> | undefined;
  /** Kind of the host whose webhook requests it. */
  readonly gitType?: string | undefined;
}

export interface Requested {
  readonly deployment: DeploymentRecord;
  /** Another deployment of the same commit is waiting or running. */
  readonly isDuplicate: boolean;
}

/**
 * Queues all of them or none. Must run in a transaction, which an error reverts.
 *
 * @throws DomainError `queue.full`, `resource.state`, `source.not_found`
 */
export async function requestDeployments(
  { ids }: Pick<UseCaseContext, "ids">,
  tx: Stores,
  requests: readonly DeploymentRequest[],
): Promise<readonly Requested[]> {
  const wanted: NewDeployment[] = [];
  for (const request of requests) wanted.push(await newDeployment(ids.uuid(), tx, request));
  const outcomes = await tx.deployments.enqueue(wanted);
  const requested = outcomes.map((outcome): Requested => {
    if (outcome.outcome === "full") throw queueFull();
    return { deployment: outcome.deployment, isDuplicate: outcome.outcome === "duplicate" };
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

async function newDeployment(uuid: string, tx: Stores, request: DeploymentRequest): Promise<NewDeployment> {
  const { resource, preview, isForced = false, isRestart = false, isInstant = false, gitType, rollbackTo } = request;
  if (resource.removing_at !== null) {
    const sentence = `${RESOURCE_KINDS[resource.kind].title} ${resource.name} is being removed, so it cannot be deployed.`;
    throw new DomainError("resource.state", sentence);
  }
  // Without a release there is nothing to restart, so it is built as for a deployment.
  const hasRelease = isRestart && (await tx.releases.live(liveKeyOf(resource))) !== undefined;
  return {
    uuid,
    resource_id: resource.id,
    server_id: resource.server_id,
    destination_id: resource.destination_id,
    pull_request_id: preview?.pull_request_id ?? 0,
    commit: rollbackTo?.commit ?? request.commit ?? "HEAD",
    force_rebuild: isForced,
    restart_only: hasRelease,
    rollback: rollbackTo !== undefined,
    rollback_to: rollbackTo?.built_by ?? null,
    is_webhook: gitType !== undefined,
    is_api: gitType === undefined,
    git_type: gitType ?? preview?.git_type ?? null,
    docker_registry_image_tag: preview?.docker_registry_image_tag ?? null,
    is_instant: isInstant,
  };
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
