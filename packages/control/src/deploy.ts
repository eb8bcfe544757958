import {
  type ApplicationRecord,
  type DeployRequestEntry,
  type DeployRequestResult,
  DomainError,
  previewRefusal,
  RESOURCE_KINDS,
  type ResourceKind,
  type ResourceRecord,
  requireAbility,
  type Stores,
} from "@berth/core";
import type { UseCaseContext } from "./context.ts";
import { type DeploymentWish, DUPLICATE_MESSAGE, type Requested, requestDeployments } from "./deployment-request.ts";
import { engineStarter } from "./lifecycle.ts";
import { openPreview } from "./preview.ts";

export interface DeployRequest {
  /** Separated by commas, as tags are; at most 100 of either. */
  readonly uuid?: string | undefined;
  readonly tag?: string | undefined;
  readonly force?: boolean | undefined;
  readonly pr?: number | undefined;
  readonly pull_request_id?: number | undefined;
  readonly docker_tag?: string | undefined;
}

/** Deploys by uuid or by tag: all that is asked for, or nothing. */
export function deploy(context: UseCaseContext) {
  const { scope, stores } = context;

  async function byUuid(uuids: readonly string[], request: DeployRequest): Promise<DeployRequestResult> {
    const pullRequest = request.pull_request_id ?? request.pr ?? 0;
    return stores.transaction(async (inside) => {
      const applications: ApplicationRecord[] = [];
      const others: ResourceRecord[] = [];
      for (const uuid of uuids) {
        const application = await inside.applications.find(uuid);
        if (application !== undefined) applications.push(application);
        else others.push(...(await withoutDeployments(inside, uuid)));
      }
      if (applications.length + others.length === 0) throw new DomainError("resource.not_found", "No resources found.");
      if (pullRequest > 0) {
        const previews = await deployPreviews(inside, applications, pullRequest, request);
        return { deployments: [...previews, ...others.map(withoutPreviews)] };
      }
      const wishes = applications.map((application) => ({ application, isForced: request.force }));
      const requested = await requestDeployments(context, inside, wishes);
      return { deployments: [...requested.map(entryOf), ...(await startAll(inside, others))] };
    });
  }

  /** Services and databases, which start without a deployment. */
  async function startAll(inside: Stores, resources: readonly ResourceRecord[]): Promise<DeployRequestEntry[]> {
    for (const resource of resources) await engineStarter(context).start(inside, resource, {});
    return resources.map(({ uuid, kind, name }) => ({
      message: `${RESOURCE_KINDS[kind].title} ${name} started.${PATIENCE[kind]}`,
      resource_uuid: uuid,
    }));
  }

  /** In the order of the applications; those that have no pull requests are told so. */
  async function deployPreviews(
    inside: Stores,
    applications: readonly ApplicationRecord[],
    pullRequest: number,
    { force, docker_tag }: DeployRequest,
  ): Promise<DeployRequestEntry[]> {
    const refused = new Map<string, string>();
    const wishes: DeploymentWish[] = [];
    for (const application of applications) {
      const known = await inside.previews.find(application.id, pullRequest);
      const tag = application.source === "image" ? (docker_tag ?? known?.docker_registry_image_tag) : undefined;
      const refusal = previewRefusal(application, pullRequest, tag);
      if (refusal !== undefined) refused.set(application.uuid, refusal);
      else {
        const fields = { pull_request_id: pullRequest, docker_registry_image_tag: tag ?? undefined };
        wishes.push({ application, isForced: force, preview: await openPreview(context, inside, application, fields) });
      }
    }
    const requested = new Map(
      (await requestDeployments(context, inside, wishes)).map((one) => [one.deployment.resource_uuid, one]),
    );
    return applications.map(({ uuid }) => {
      const one = requested.get(uuid);
      return one === undefined ? { message: refused.get(uuid) ?? "", resource_uuid: uuid } : entryOf(one);
    });
  }

  async function byTag(tags: readonly string[], request: DeployRequest): Promise<DeployRequestResult> {
    return stores.transaction(async (inside) => {
      const tagged = new Map<string, ApplicationRecord>();
      const services = new Map<string, ResourceRecord>();
      for (const tag of tags) {
        for (const found of (await inside.applications.list({ tag })).items) tagged.set(found.uuid, found);
        for (const found of (await inside.services.list({ tag })).items) services.set(found.uuid, found);
      }
      if (tagged.size + services.size === 0) {
        throw new DomainError("resource.not_found", "No resources found with this tag.");
      }
      const wishes = [...tagged.values()].map((application) => ({ application, isForced: request.force }));
      const requested = await requestDeployments(context, inside, wishes);
      const started = await startAll(inside, [...services.values()]);
      return {
        message: [...requested.map(entryOf), ...started].map(({ message }) => message),
        details: requested.map(({ deployment }) => ({
          resource_uuid: deployment.resource_uuid,
          deployment_uuid: deployment.uuid,
        })),
      };
    });
  }

  /** @throws DomainError `request.malformed`, `resource.not_found`, `queue.full`; of previews also `domain.conflict` */
  return async function request(asked: DeployRequest): Promise<DeployRequestResult> {
    requireAbility(scope, "deploy");
    const refusal = contradictionOf(asked);
    if (refusal !== undefined) throw new DomainError("request.malformed", refusal);
    if (asked.uuid !== undefined) return byUuid(listOf(asked.uuid), asked);
    return byTag(listOf(asked.tag ?? ""), asked);
  };
}

/** A service may have to pull the images of many containers. */
const PATIENCE = {
  application: "",
  service: " It could take a while, be patient.",
  database: "",
} as const satisfies Record<ResourceKind, string>;

/** The service or database of this uuid; none when there is neither. */
async function withoutDeployments(inside: Stores, uuid: string): Promise<readonly ResourceRecord[]> {
  for (const kind of ["service", "database"] as const) {
    const resource = await inside.resources.find({ kind, uuid });
    if (resource !== undefined) return [resource];
  }
  return [];
}

const withoutPreviews = ({ uuid, kind, name }: ResourceRecord): DeployRequestEntry => ({
  message: `${RESOURCE_KINDS[kind].title} ${name} has no previews of pull requests.`,
  resource_uuid: uuid,
});

/** Far more than a queue takes, and read within a moment. */
const LISTED_MAX = 100;

function contradictionOf({ uuid, tag, pr, pull_request_id, docker_tag }: DeployRequest): string | undefined {
  const pullRequest = pull_request_id ?? pr ?? 0;
  if (uuid !== undefined && tag !== undefined) return "You can only use uuid or tag, not both.";
  if (uuid === undefined && tag === undefined) return "You must provide uuid or tag.";
  if (tag !== undefined && pullRequest > 0) return "You can only use tag or pr, not both.";
  if (tag !== undefined && docker_tag !== undefined) return "You can only use tag or docker_tag, not both.";
  if (docker_tag !== undefined && pullRequest === 0) return "docker_tag requires pull_request_id.";
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

const entryOf = ({ deployment, isDuplicate }: Requested): DeployRequestEntry & { message: string } => ({
  message: isDuplicate ? DUPLICATE_MESSAGE : `Application ${deployment.resource_name} deployment queued.`,
  resource_uuid: deployment.resource_uuid,
  deployment_uuid: deployment.uuid,
});
