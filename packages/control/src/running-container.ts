import { liveKeyOf } from "@berth/core/deploy";
import type { Page } from "@berth/core/ports";
import { type ResourceRef, type RunningContainer, runningContainers } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import { engineOf, findResource, resourceOn, type UseCaseContext } from "./context.ts";

/** Containers of resources of every kind. */
export function containers(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    /** Those of the live release; empty when it has none. @throws DomainError `resource.not_found`, `engine.unreachable` */
    async list(ref: ResourceRef, serverUuid?: string): Promise<Page<RunningContainer>> {
      requireAbility(scope, "read");
      const resource = await resourceOn(stores, await findResource(stores, ref), serverUuid);
      const live = await stores.releases.live(liveKeyOf(resource));
      if (live === undefined) return { items: [], total: 0 };
      const engine = await engineOf(context, resource);
      const { resource_uuid: resourceUuid, deployment_uuid: deploymentUuid } = live;
      const state = await engine.inspect({ resourceUuid, deploymentUuid });
      const items = state === undefined ? [] : runningContainers(state, engine.capabilities);
      return { items, total: items.length };
    },
  };
}
