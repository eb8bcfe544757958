import { DomainError, notFound } from "@berth/core";
import { type Compose, parseCompose, renderCompose } from "@berth/core/compose";
import type { Page, Paging, ServerRecord, ServiceRecord, Stores } from "@berth/core/ports";
import { ENGINES } from "@berth/core/server";
import {
  type ComposeText,
  changedCompose,
  filterTemplates,
  readServiceUrls,
  type SavedService,
  type Service,
  type ServiceTemplate,
  type ServiceTemplateFilter,
  type ServiceUpdate,
  serviceChanges,
  serviceUrls,
  templateView,
} from "@berth/core/service";
import { requireAbility, requireWrite } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";
import { recordStarter } from "./lifecycle.ts";
import { serviceViews } from "./service-answer.ts";
import { createService } from "./service-create.ts";
import {
  type Applied,
  applyDefinition,
  nothingApplied,
  requireHostAccess,
  requireOwnNames,
} from "./service-definition.ts";

/** @throws DomainError `resource.not_found` */
export async function findService(stores: Stores, uuid: string): Promise<ServiceRecord> {
  const service = await stores.services.find(uuid);
  if (service === undefined) throw notFound("Service");
  return service;
}

export function services(context: UseCaseContext) {
  const { scope, stores, templates } = context;
  return {
    async list(paging: Paging): Promise<Page<Service>> {
      requireAbility(scope, "read");
      const page = await stores.services.list({}, paging);
      return { items: await serviceViews(context, page.items), total: page.total };
    },

    async get(uuid: string): Promise<Service> {
      requireAbility(scope, "read");
      const [view] = await serviceViews(context, [await findService(stores, uuid)]);
      if (view === undefined) throw notFound("Service");
      return view;
    },

    /** One-click services, sorted by type. */
    async templates({ skip = 0, take, ...filter }: ServiceTemplateFilter & Paging): Promise<Page<ServiceTemplate>> {
      requireAbility(scope, "read");
      const found = filterTemplates(templates, filter).map(templateView);
      return { items: found.slice(skip, take === undefined ? undefined : skip + take), total: found.length };
    },

    ...createService(context),

    update: (uuid: string, sent: ServiceUpdate) => update(context, uuid, sent),
  };
}

/**
 * Changes a service with its containers, URLs, variables and storages: all or nothing. With `dry_run` nothing is
 * changed, and the answer says what would be.
 * @throws DomainError `request.invalid`, `domain.conflict`, `engine.unsupported`
 */
async function update(context: UseCaseContext, uuid: string, sent: ServiceUpdate): Promise<SavedService> {
  const { scope, stores } = context;
  requireWrite(scope, sent);
  const { id, server_id } = await findService(stores, uuid);
  const server = await stores.servers.findById(server_id);
  if (server === undefined) throw notFound("Server");
  const changed = changedCompose(sent);
  if (changed !== undefined) {
    await requireHostAccess(context, server, changed);
    await requireOwnNames(stores, changed, sent);
  }
  const change = async (tx: Stores): Promise<SavedService> => {
    const before = sent.dry_run ? await storedCompose(tx, await findService(tx, uuid)) : undefined;
    // First, so that a concurrent change of this service waits and then reads this one.
    const service = await tx.services.update(id, changeOf(sent));
    if (service === undefined) throw notFound("Service");
    const { containers, overridden, plan } = await redefine(context, tx, service, server, sent, changed);
    const hasNewSettings = Object.keys(changeOf(sent).settings).length > 0;
    const { isCluster: isOnCluster } = ENGINES[server.engine];
    await emitResourceEvent(tx, service, "resource.updated", { fields: Object.keys(sent).sort() });
    if (sent.instant_deploy && !sent.dry_run) await recordStarter(context).start(tx, service, { keepsUnchanged: true });
    return {
      uuid,
      domains: serviceUrls(containers),
      ...(overridden.length > 0 ? { overridden: [...overridden] } : {}),
      ...(before && {
        changes: serviceChanges({ ...plan, before, after: changed ?? before, hasNewSettings, isOnCluster }),
      }),
    };
  };
  return sent.dry_run ? rehearse(stores, change) : stores.transaction(change);
}

/** Does the work in a transaction and rolls it back, to return what it would have done. */
async function rehearse<T>(stores: Stores, work: (tx: Stores) => Promise<T>): Promise<T> {
  const undone = new Error("A rehearsal is undone.");
  let outcome: { readonly value: T } | undefined;
  try {
    await stores.transaction(async (tx) => {
      outcome = { value: await work(tx) };
      throw undone;
    });
  } catch (error) {
    if (error === undone && outcome !== undefined) return outcome.value;
    throw error;
  }
  throw undone;
}

async function redefine(
  context: UseCaseContext,
  tx: Stores,
  service: ServiceRecord,
  server: ServerRecord,
  sent: ServiceUpdate,
  changed: ComposeText | undefined,
): Promise<Applied> {
  const hasUrls = (sent.urls ?? []).length > 0;
  const isRendered = changed !== undefined || Object.keys(changeOf(sent).settings).length > 0;
  if (!hasUrls && !isRendered) {
    const existing = sent.dry_run ? (await tx.envs.list(service.id)).items : [];
    return nothingApplied(await tx.services.containers([service.id]), existing);
  }
  const stored = await readStored(tx, service);
  const compose = changed ?? requireReadable(service, stored);
  if (isRendered) await tx.services.update(service.id, { secrets: composeTexts(service, compose, changed?.text) });
  const isForced = sent.force_domain_override ?? false;
  const requested = readServiceUrls(sent.urls, compose.containers, isForced);
  const replaced = changed === undefined || "problems" in stored ? undefined : stored;
  const definition = { compose, replaced, isNewCompose: changed !== undefined, requested, isForced };
  return applyDefinition(context, tx, service, server, definition);
}

function changeOf({ name, description, ...sent }: ServiceUpdate) {
  const { connect_to_docker_network, is_container_label_escape_enabled } = sent;
  return {
    name: name ?? undefined,
    description,
    settings: {
      ...(connect_to_docker_network === undefined ? {} : { connect_to_docker_network }),
      ...(is_container_label_escape_enabled === undefined ? {} : { is_container_label_escape_enabled }),
    },
  };
}

const storedCompose = async (tx: Stores, service: ServiceRecord): Promise<Compose> =>
  requireReadable(service, await readStored(tx, service));

async function readStored(tx: Stores, { id }: ServiceRecord): Promise<ReturnType<typeof parseCompose>> {
  const { docker_compose_raw } = await tx.services.secrets(id);
  return parseCompose(docker_compose_raw);
}

function requireReadable({ name }: ServiceRecord, compose: ReturnType<typeof parseCompose>): Compose {
  if (!("problems" in compose)) return compose;
  // It was stored by an older version, which allowed more.
  const sentence = `The compose file of service ${name} must be changed first: ${compose.problems.join(" ")}`;
  throw new DomainError("request.invalid", sentence, { fields: { docker_compose: compose.problems } });
}

const composeTexts = ({ uuid, settings, placement }: ServiceRecord, compose: Compose, text: string | undefined) => ({
  ...(text === undefined ? {} : { docker_compose_raw: text }),
  docker_compose: renderCompose(compose, { uuid, settings, network: placement.destination_network }),
});
