import {
  type ComposeText,
  generatedServiceName,
  notFound,
  requireAbility,
  type SavedService,
  type ServiceCreate,
  ServiceSettings,
  serviceSource,
  serviceUrls,
} from "@berth/core";
import type { UseCaseContext } from "./context.ts";
import { resolvePlace } from "./placement.ts";

export function createService(context: UseCaseContext) {
  return {
    create: (sent: ServiceCreate) => {
      requireAbility(context.scope, "write");
      const source = serviceSource(sent);
      if ("type" in source) throw notFound("Service type");
      return create(context, sent, source);
    },
  };
}

async function create(context: UseCaseContext, sent: ServiceCreate, compose: ComposeText): Promise<SavedService> {
  const { stores, ids } = context;
  const { environment, server, destination } = await resolvePlace(stores, sent);
  const uuid = ids.uuid();
  return stores.transaction(async (inside) => {
    const service = await inside.services.insert({
      uuid,
      environment_id: environment.id,
      server_id: server.id,
      destination_id: destination.id,
      name: sent.name ?? generatedServiceName(null, uuid),
      description: sent.description ?? null,
      service_type: null,
      settings: ServiceSettings.parse({
        connect_to_docker_network: sent.connect_to_docker_network,
        is_container_label_escape_enabled: sent.is_container_label_escape_enabled,
      }),
      secrets: { docker_compose_raw: compose.text, docker_compose: null },
    });
    const containers = await inside.services.saveContainers(
      service.id,
      compose.containers.map((container) => ({
        uuid: ids.uuid(),
        kind: container.kind,
        name: container.name,
        image: container.image,
        ports: container.ports,
        exposes: container.exposes,
        exclude_from_status: container.isExcluded,
      })),
    );
    return { uuid, domains: serviceUrls(containers) };
  });
}
