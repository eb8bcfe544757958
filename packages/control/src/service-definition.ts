import { DomainError, invalid, isDomainError } from "@berth/core";
import { type DomainConflict, parseUrlList } from "@berth/core/application";
import { type Compose, composeStorages, containerPort, externalReferences, hostPrivileges } from "@berth/core/compose";
import { foreignNames, uuidIn } from "@berth/core/deploy";
import type { ServerRecord, ServiceContainerRecord, ServiceRecord, StorageRecord, Stores } from "@berth/core/ports";
import { isOnOwnMachine } from "@berth/core/server";
import {
  type ContainerClaims,
  planStorages,
  planUrls,
  planVariables,
  type ServicePlan,
  type StoragePlan,
} from "@berth/core/service";
import { requireOperator } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { claimDomains, requireFreeDomains } from "./domain.ts";

export interface Definition {
  readonly compose: Compose;
  /** The one that it replaces, if Berth can still read that. */
  readonly replaced?: Compose | undefined;
  /** Whether the compose file changes; `false` if only URLs do. */
  readonly isNewCompose: boolean;
  readonly requested: ContainerClaims;
  readonly isForced: boolean;
}

export interface Applied {
  readonly containers: readonly ServiceContainerRecord[];
  readonly overridden: readonly DomainConflict[];
  /** The applied plan, for the answer. */
  readonly plan: Omit<ServicePlan, "before" | "after" | "hasNewSettings" | "isOnCluster">;
}

/**
 * Applies the compose file and the requested URLs to a service: containers, URLs, variables, storages. Must run in
 * the transaction that created or changed the service, whose lock serialises changes.
 * @throws DomainError `domain.conflict`
 */
export async function applyDefinition(
  context: UseCaseContext,
  tx: Stores,
  service: Pick<ServiceRecord, "id" | "uuid">,
  server: ServerRecord,
  definition: Definition,
): Promise<Applied> {
  const { compose, replaced, isNewCompose } = definition;
  const before = await tx.services.containers([service.id]);
  const containers = isNewCompose
    ? await tx.services.saveContainers(service.id, containerFields(context, compose))
    : before;
  const { items: existing } = await tx.envs.list(service.id);
  const { items: existingStorages } = await tx.storages.list(service.id);
  const keys = new Set(existing.map(({ key }) => key));
  const current = currentClaims(before);
  const plan = planUrls(
    compose,
    { uuid: service.uuid, server },
    {
      requested: definition.requested,
      current,
      isNewCompose,
      isNamedBefore: ({ name, variable }) =>
        [`SERVICE_URL_${name}`, `SERVICE_FQDN_${name}`, variable ?? ""].some((key) => keys.has(key)),
    },
  );
  const overridden = await claimUrls(context, tx, service.id, containers, plan.claims, definition.isForced);
  const variables = planVariables({
    variables: compose.variables,
    ...(replaced && { replaced: replaced.variables }),
    existing,
    urls: plan.urls,
    publicUrl: (url) => context.publicUrl(url, server.id),
    source: { ...context.magic, secret: context.ids.secret },
    now: context.clock.now(),
    isNewCompose,
  });
  await write(context, tx.envs, service.id, variables);
  const storages = isNewCompose ? storagePlan(service, definition, existingStorages) : NO_CHANGE;
  await write(context, tx.storages, service.id, storages);
  return {
    containers: await tx.services.containers([service.id]),
    overridden,
    plan: {
      urls: plan,
      currentUrls: current,
      variables,
      storages,
      existing: { variables: existing, storages: existingStorages },
    },
  };
}

export const currentClaims = (containers: readonly ServiceContainerRecord[]): ContainerClaims =>
  new Map(containers.map(({ name, fqdn }) => [name, parseUrlList(fqdn ?? "").claims]));

const NO_CHANGE = { insert: [], update: [], delete: [] } as const;

/** The result if neither compose file nor URLs change. @param variables Existing ones, which the answer lists. */
export const nothingApplied = (
  containers: readonly ServiceContainerRecord[],
  variables: ServicePlan["existing"]["variables"],
): Applied => ({
  containers,
  overridden: [],
  plan: {
    urls: { claims: new Map() },
    currentUrls: currentClaims(containers),
    variables: NO_CHANGE,
    storages: NO_CHANGE,
    existing: { variables, storages: [] },
  },
});

function storagePlan(
  { uuid }: Pick<ServiceRecord, "uuid">,
  { compose }: Definition,
  existing: readonly StorageRecord[],
): StoragePlan {
  const names = compose.containers.map(({ name }) => name);
  return planStorages(composeStorages(compose, uuid), existing, names);
}

const containerFields = ({ ids }: UseCaseContext, { containers, urls }: Compose) =>
  containers.map(({ kind, name, image, ports, exposes, isExcluded }) => ({
    uuid: ids.uuid(),
    port: containerPort({ name, ports, exposes }, urls),
    kind,
    name,
    image,
    ports,
    exposes,
    exclude_from_status: isExcluded,
  }));

async function claimUrls(
  context: UseCaseContext,
  tx: Stores,
  serviceId: number,
  containers: readonly ServiceContainerRecord[],
  wanted: ContainerClaims,
  isForced: boolean,
): Promise<readonly DomainConflict[]> {
  const changed = containers.filter(({ name }) => wanted.has(name));
  if (changed.length === 0) return [];
  const claims = changed.flatMap(({ id, name }) =>
    (wanted.get(name) ?? []).map((claim) => ({ ...claim, service_container_id: id })),
  );
  const claimed = { claims, isForced, resourceId: serviceId, containerIds: changed.map(({ id }) => id) };
  await requireFreeDomains(context, tx, claimed);
  return claimDomains(context, tx, serviceId, claimed);
}

interface Children<Fields> {
  insert(resourceId: number, uuid: string, fields: Fields): Promise<unknown>;
  update(resourceId: number, uuid: string, change: Partial<Fields>): Promise<unknown>;
  delete(resourceId: number, uuid: string): Promise<boolean>;
}

interface Plan<Fields> {
  readonly insert: readonly Fields[];
  readonly update: readonly { readonly uuid: string; readonly change: Partial<Fields> }[];
  readonly delete: readonly string[];
}

async function write<Fields>(
  { ids }: UseCaseContext,
  children: Children<Fields>,
  resourceId: number,
  plan: Plan<Fields>,
): Promise<void> {
  for (const uuid of plan.delete) await children.delete(resourceId, uuid);
  for (const { uuid, change } of plan.update) await children.update(resourceId, uuid, change);
  for (const fields of plan.insert) await children.insert(resourceId, ids.uuid(), fields);
}

/**
 * On Berth's own machine, only its operator may use folders and host privileges, if the engine grants them.
 * @throws DomainError `auth.missing_ability`, `auth.root_team_only`, `engine.unreachable`
 */
export async function requireHostAccess(
  { scope, engineFor }: UseCaseContext,
  server: ServerRecord,
  { document, containers }: Compose,
): Promise<void> {
  const powers = isOnOwnMachine(server) ? hostPrivileges(document, containers) : [];
  if (powers.length === 0) return;
  const { capabilities } = await engineFor(server);
  if (!capabilities.privileged_mounts) return;
  try {
    requireOperator(scope);
  } catch (refusal) {
    if (!isDomainError(refusal)) throw refusal;
    throw new DomainError(refusal.code, `${refusal.message.replace(/\.$/, "")}. ${hostAccessSentence(powers)}`);
  }
}

function hostAccessSentence(powers: readonly string[]): string {
  const named = powers.slice(0, POWERS_NAMED_MAX);
  const more = powers.length > named.length ? `, and ${powers.length - named.length} more` : "";
  return `The compose file asks for host privileges on the machine that Berth runs on: ${named.join(", ")}${more}. The operator grants them by sending the same request with a token of the root team that has the ability root, such as the one in the data folder of Berth. Without it, use a named volume or another server.`;
}

const POWERS_NAMED_MAX = 10;

/**
 * Refuses a compose file that names networks, volumes or containers of resources outside of the team.
 * @throws DomainError `request.invalid` for the field that was sent
 */
export async function requireOwnNames(
  stores: Stores,
  { document }: Compose,
  sent: { readonly docker_compose?: string | null | undefined },
): Promise<void> {
  const named = externalReferences(document);
  const uuids = named.flatMap(({ name }) => uuidIn(name) ?? []);
  const own = uuids.length === 0 ? new Map<string, unknown>() : await stores.resources.ownAmong(uuids);
  const problems = foreignNames(named, (uuid) => own.has(uuid)).map(
    ({ type, name }) =>
      `The ${type} ${name} does not belong to a resource of this team. Use another one, or remove it.`,
  );
  if (problems.length > 0) throw invalid({ [sent.docker_compose ? "docker_compose" : "docker_compose_raw"]: problems });
}
