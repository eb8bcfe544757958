import type { Page, Paging } from "@berth/core/ports";
import type { ResourceRef } from "@berth/core/resource";
import { type Metric, metricView } from "@berth/core/schedule";
import { requireAbility } from "@berth/core/team";
import { findResource, type UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";

/** Usage of resources. */
export function metrics({ scope, stores }: UseCaseContext) {
  return {
    /** Oldest first. */
    async list(ref: ResourceRef, since: Date | undefined, paging: Paging): Promise<Page<Metric>> {
      requireAbility(scope, "read");
      const resource = await findResource(stores, ref);
      return mapPage(await stores.metrics.list(resource.id, since ?? new Date(0), paging), metricView);
    },
  };
}
