import type { Page, Paging } from "@berth/core/ports";
import { RESOURCE_KINDS, type Resource, type ResourceKind } from "@berth/core/resource";
import { requireAbility } from "@berth/core/team";
import { applicationViews } from "./application-answer.ts";
import type { UseCaseContext } from "./context.ts";
import { databaseViews } from "./database-answer.ts";
import { serviceViews } from "./service-answer.ts";

type WithoutId<R> = R extends unknown ? Omit<R, "id"> : never;
type Views = readonly WithoutId<Resource>[];

/** All resources of the team, of any kind. */
export function resources(context: UseCaseContext) {
  const { scope, stores } = context;

  /** Reads the views of a kind, with their type. */
  const viewsOf: { readonly [K in ResourceKind]: (ids: readonly number[]) => Promise<Views> } = {
    async application(ids) {
      const views = await applicationViews(context, (await stores.applications.list({ ids })).items);
      return views.map((view) => ({ ...view, type: "application" }));
    },
    async service(ids) {
      const views = await serviceViews(context, (await stores.services.list({ ids })).items);
      return views.map((view) => ({ ...view, type: "service" }));
    },
    async database(ids) {
      const views = await databaseViews(context, (await stores.databases.list({ ids })).items);
      return views.map((view) => ({ ...view, type: view.database_type }));
    },
  };

  return {
    async list(paging: Paging): Promise<Page<Resource>> {
      requireAbility(scope, "read");
      const { items, total } = await stores.resources.list({}, paging);
      const views = new Map<string, WithoutId<Resource>>();
      // The type of `Object.keys` is wider: these are the keys of the table.
      for (const kind of Object.keys(RESOURCE_KINDS) as ResourceKind[]) {
        const ids = items.flatMap((item) => (item.kind === kind ? [item.id] : []));
        const ofKind = ids.length === 0 ? [] : await viewsOf[kind](ids);
        for (const view of ofKind) views.set(view.uuid, view);
      }
      // Skips resources that were removed between the two reads.
      const listed = items.flatMap(({ id, uuid }) => {
        const view = views.get(uuid);
        return view === undefined ? [] : [{ ...view, id }];
      });
      return { items: listed, total };
    },
  };
}
