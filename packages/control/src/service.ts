import {
  notFound,
  type Page,
  type Paging,
  requireAbility,
  type Service,
  type ServiceRecord,
  type Stores,
} from "@berth/core";
import type { UseCaseContext } from "./context.ts";
import { serviceViews } from "./service-answer.ts";
import { createService } from "./service-create.ts";

/** @throws DomainError `resource.not_found` */
export async function findService(stores: Stores, uuid: string): Promise<ServiceRecord> {
  const service = await stores.services.find(uuid);
  if (service === undefined) throw notFound("Service");
  return service;
}

export function services(context: UseCaseContext) {
  const { scope, stores } = context;
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

    ...createService(context),
  };
}
