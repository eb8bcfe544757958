import { type Page, type Paging, type Resource, requireAbility } from "@berth/core";
import { applicationViews } from "./application-answer.ts";
import type { UseCaseContext } from "./context.ts";

/** All resources of the team, whatever their kind. */
export function resources(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    async list(paging: Paging): Promise<Page<Resource>> {
      requireAbility(scope, "read");
      const { items, total } = await stores.applications.list({}, paging);
      const views = await applicationViews(context, items);
      const ids = new Map(items.map(({ uuid, id }) => [uuid, id]));
      return { items: views.map((view) => ({ ...view, id: ids.get(view.uuid) ?? 0, type: "application" })), total };
    },
  };
}
