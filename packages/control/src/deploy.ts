import { DomainError } from "@berth/core";
import { previewRefusal } from "@berth/core/application";
import type { DeployRequestEntry, DeployRequestResult } from "@berth/core/deploy";
import type { ApplicationRecord, ResourceRecord, Stores } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceKind } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { renewCertificateOf } from "./database-certificate.ts";
import {
  applicationRequest,
  type DeploymentRequest,
  DUPLICATE_MESSAGE,
  type Requested,
  requestDeployments,
} from "./deployment-request.ts";
import { requireEngineFor } from "./lifecycle.ts";
import { openPreview } from "./preview.ts";

export interface DeployRequest {
  /** Comma-separated; at most 100 uuids or tags. */
  readonly uuid?: string | undefined;
  readonly tag?: string | undefined;
  readonly force?: boolean | undefined;
  readonly pr?: number | undefined;
  readonly pull_request_id?: number | undefined;
  readonly docker_tag?: string | undefined;
  readonly server_uuid?: string | undefined;
}

/** Deploys by uuid or by tag: everything requested, or nothing. */
export function deploy(context: UseCaseContext) {
  const { scope, stores } = context;

  async function byUuid(uuids: readonly string[], request: DeployRequest): Promise<DeployRequestResult> {
    const pullRequest = request.pull_request_id ?? request.pr ?? 0;
    return stores.transaction(async (tx) => {
      const targets = new Map<string, ResourceRecord>();
      for (const uuid of uuids) {
        const target = await targetOf(tx, uuid);
        if (target !== undefined) targets.set(target.uuid, target);
      }
      if (targets.size === 0) throw new DomainError("resource.not_found", "No resources found.");
      const wanted = [...targets.values()];
      if (pullRequest === 0) return { deployments: await deployAll(tx, wanted, request) };
      return { deployments: await deployPreviews(tx, wanted, pullRequest, request) };
    });
  }

  /** Results are in the order of the targets, those of an application on several servers in the order of these. */
  async function deployAll(
    tx: Stores,
    targets: readonly ResourceRecord[],
    { force, server_uuid: serverUuid }: DeployRequest,
  ): Promise<(DeployRequestEntry & { message: string })[]> {
    const requests: DeploymentRequest[] = [];
    for (const resource of targets) {
      const application = await applicationOf(tx, resource);
      if (application === undefined) await requireEngineFor(context, tx, resource);
      await renewCertificateOf(context, tx, resource);
      const request = application === undefined ? {} : applicationRequest(application);
      requests.push({ ...request, isForced: force, serverUuid, resource });
    }
    const kinds = new Map(targets.map(({ uuid, kind }) => [uuid, kind]));
    return (await requestDeployments(context, tx, requests))
      .flatMap((one) => [one, ...one.following])
      .map((one) => entryOf(one, kinds.get(one.deployment.resource_uuid)));
  }

  /** Results are in the order of the targets; for those without pull requests they say so. */
  async function deployPreviews(
    tx: Stores,
    targets: readonly ResourceRecord[],
    pullRequest: number,
    { force, docker_tag }: DeployRequest,
  ): Promise<DeployRequestEntry[]> {
    const refused = new Map<string, string>();
    const requests: DeploymentRequest[] = [];
    for (const resource of targets) {
      const application = await applicationOf(tx, resource);
      if (application === undefined) {
        const { title } = RESOURCE_KINDS[resource.kind];
        refused.set(resource.uuid, `${title} ${resource.name} has no previews of pull requests.`);
        continue;
      }
      const known = await tx.previews.find(application.id, pullRequest);
      const tag = application.source === "image" ? (docker_tag ?? known?.docker_registry_image_tag) : undefined;
      const refusal = previewRefusal(application, pullRequest, tag);
      if (refusal !== undefined) refused.set(application.uuid, refusal);
      else {
        const fields = { pull_request_id: pullRequest, docker_registry_image_tag: tag ?? undefined };
        const preview = await openPreview(context, tx, application, fields);
        requests.push({ ...applicationRequest(application, { isForced: force, preview }), resource });
      }
    }
    const requested = new Map(
      (await requestDeployments(context, tx, requests)).map((one) => [one.deployment.resource_uuid, one]),
    );
    return targets.map(({ uuid }) => {
      const one = requested.get(uuid);
      return one === undefined ? { message: refused.get(uuid) ?? "", resource_uuid: uuid } : entryOf(one);
    });
  }

  async function byTag(tags: readonly string[], request: DeployRequest): Promise<DeployRequestResult> {
    return stores.transaction(async (tx) => {
      const tagged = new Map<string, ResourceRecord>();
      for (const tag of tags) {
        const resources = await tx.tags.resources(tag);
        for (const kind of ["application", "service"]) {
          for (const resource of resources) if (resource.kind === kind) tagged.set(resource.uuid, resource);
        }
      }
      if (tagged.size === 0) throw new DomainError("resource.not_found", "No resources found with this tag.");
      const entries = await deployAll(tx, [...tagged.values()], request);
      return {
        message: entries.map(({ message }) => message),
        details: entries.flatMap(({ message: _, ...entry }) => (entry.deployment_uuid === undefined ? [] : [entry])),
      };
    });
  }

  /**
   * @throws DomainError `request.malformed`, `resource.not_found`, `queue.full`, `engine.unsupported`; for previews
   * also `domain.conflict`
   */
  return async function request(asked: DeployRequest): Promise<DeployRequestResult> {
    requireAbility(scope, "deploy");
    const refusal = contradictionOf(asked);
    if (refusal !== undefined) throw new DomainError("request.malformed", refusal);
    if (asked.uuid !== undefined) return byUuid(listOf(asked.uuid), asked);
    return byTag(listOf(asked.tag ?? ""), asked);
  };
}

/**
 * A resource of any kind; the uuid of a service's container selects the service. Without its settings: a hundred
 * large applications would be in memory at once.
 */
async function targetOf(tx: Stores, uuid: string): Promise<ResourceRecord | undefined> {
  for (const kind of ["application", "database"] as const) {
    const found = await tx.resources.find({ kind, uuid });
    if (found !== undefined) return found;
  }
  const container = await tx.services.findContainer(uuid);
  const { items } = container === undefined ? { items: [] } : await tx.services.list({ ids: [container.resource_id] });
  return await tx.resources.find({ kind: "service", uuid: items[0]?.uuid ?? uuid });
}

async function applicationOf(tx: Stores, { kind, uuid }: ResourceRecord): Promise<ApplicationRecord | undefined> {
  return kind === "application" ? await tx.applications.find(uuid) : undefined;
}

const QUEUED: Readonly<Record<ResourceKind, (requested: Requested) => string>> = {
  application: ({ deployment, isDuplicate }) =>
    isDuplicate ? DUPLICATE_MESSAGE : `Application ${deployment.resource_name} deployment queued.`,
  service: ({ deployment }) => `Service ${deployment.resource_name} started. It could take a while, be patient.`,
  database: ({ deployment }) => `Database ${deployment.resource_name} started.`,
};

/** Far above the limit of a queue, and still fast to read. */
const LISTED_MAX = 100;

function contradictionOf({
  uuid,
  tag,
  pr,
  pull_request_id,
  docker_tag,
  server_uuid,
}: DeployRequest): string | undefined {
  const pullRequest = pull_request_id ?? pr ?? 0;
  if (uuid !== undefined && tag !== undefined) return "You can only use uuid or tag, not both.";
  if (uuid === undefined && tag === undefined) return "You must provide uuid or tag.";
  if (tag !== undefined && pullRequest > 0) return "You can only use tag or pr, not both.";
  if (tag !== undefined && docker_tag !== undefined) return "You can only use tag or docker_tag, not both.";
  if (docker_tag !== undefined && pullRequest === 0) return "docker_tag requires pull_request_id.";
  if (server_uuid !== undefined && pullRequest > 0) return "You can only use server_uuid or pr, not both.";
  if (uuid !== undefined && listOf(uuid).length === 0) return "No UUIDs provided.";
  if (tag !== undefined && listOf(tag).length === 0) return "No TAGs provided.";
  const [noun, count] = uuid === undefined ? ["tags", listOf(tag ?? "").length] : ["uuids", listOf(uuid).length];
  if (count > LISTED_MAX) return `At most ${LISTED_MAX} ${noun} in one request; you sent ${count}.`;
  return undefined;
}

const listOf = (text: string): readonly string[] => [
  ...new Set(
    text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== ""),
  ),
];

const entryOf = (
  requested: Requested,
  kind: ResourceKind = "application",
): DeployRequestEntry & { message: string } => ({
  message: QUEUED[kind](requested),
  resource_uuid: requested.deployment.resource_uuid,
  deployment_uuid: requested.deployment.uuid,
});
