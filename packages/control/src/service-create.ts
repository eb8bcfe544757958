import { renderCompose } from "@berth/core/compose";
import {
  type ComposeText,
  chosenTemplate,
  generatedServiceName,
  readServiceUrls,
  type SavedService,
  type ServiceCreate,
  type ServiceCreateOneClick,
  ServiceSettings,
  serviceSource,
  serviceUrls,
  templateCompose,
} from "@berth/core/service";
import { requireWrite } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { recordStarter } from "./lifecycle.ts";
import { resolvePlace } from "./placement.ts";
import { applyDefinition, requireHostAccess, requireOwnNames } from "./service-definition.ts";

export function createService(context: UseCaseContext) {
  const { scope, templates } = context;

  function ofTemplate(sent: ServiceCreate, type: string): Promise<SavedService> {
    const template = chosenTemplate(templates, type);
    return create(context, sent, templateCompose(template), type);
  }

  return {
    /** @throws DomainError `request.invalid`, `domain.conflict`, `engine.unsupported` */
    async create(sent: ServiceCreate): Promise<SavedService> {
      requireWrite(scope, sent);
      const source = serviceSource(sent);
      return "type" in source ? ofTemplate(sent, source.type) : create(context, sent, source, null);
    },

    /** @throws DomainError `resource.not_found` with the existing types */
    async createOneClick(sent: ServiceCreateOneClick): Promise<SavedService> {
      requireWrite(scope, sent);
      return ofTemplate(sent, sent.type);
    },
  };
}

/** Creates a service with its containers, URLs, variables and storages: all or nothing. */
async function create(
  context: UseCaseContext,
  sent: ServiceCreate,
  compose: ComposeText,
  type: string | null,
): Promise<SavedService> {
  const { stores, ids } = context;
  const isForced = sent.force_domain_override ?? false;
  const requested = readServiceUrls(sent.urls, compose.containers, isForced);
  const { environment, server, destination } = await resolvePlace(stores, sent, { needsContainers: true });
  await requireHostAccess(context, server, compose);
  await requireOwnNames(stores, compose, sent);
  const uuid = ids.uuid();
  const { connect_to_docker_network, is_container_label_escape_enabled } = sent;
  const settings = ServiceSettings.parse({ connect_to_docker_network, is_container_label_escape_enabled });
  return stores.transaction(async (tx) => {
    const service = await tx.services.insert({
      uuid,
      environment_id: environment.id,
      server_id: server.id,
      destination_id: destination.id,
      name: sent.name ?? generatedServiceName(type, uuid),
      description: sent.description ?? null,
      service_type: type,
      settings,
      secrets: {
        docker_compose_raw: compose.text,
        docker_compose: renderCompose(compose, { uuid, settings, network: destination.network }),
      },
    });
    const definition = { compose, isNewCompose: true, requested, isForced };
    const { containers, overridden } = await applyDefinition(context, tx, service, server, definition);
    if (sent.instant_deploy) await recordStarter(context).start(tx, service, {});
    return {
      uuid,
      domains: serviceUrls(containers),
      ...(overridden.length > 0 ? { overridden: [...overridden] } : {}),
    };
  });
}
