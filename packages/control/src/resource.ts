import type { Page, Paging } from "@berth/core/ports";
import {
  RESOURCE_KINDS,
  type Resource,
  type ResourceKind,
  type ResourceSummary,
  resourceSummaryView,
} from "@berth/core/resource";
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

  /** By database id: why the newest run of a backup schedule failed, the last drill, and since when none was run. */
  async function backupsOf(databaseIds: readonly number[]) {
    const schedules = databaseIds.length === 0 ? [] : await stores.backups.listOf(databaseIds);
    const ids = schedules.map(({ id }) => id);
    const newest = ids.length === 0 ? [] : await stores.backups.newestExecutions(ids, 1);
    const failures = new Map(
      newest.flatMap(({ scheduled_backup_id, status, message }) =>
        status === "failed" ? [[scheduled_backup_id, message ?? "Its log says why."] as const] : [],
      ),
    );
    const byDatabase = Map.groupBy(schedules, ({ resource_id }) => resource_id);
    const found = byDatabase.size === 0 ? [] : await stores.restores.lastDrills([...byDatabase.keys()]);
    const drills = new Map(found.map((drill) => [drill.resource_id, drill]));
    const undrilled = [...byDatabase.keys()].filter((id) => !drills.has(id));
    return {
      failures: new Map([...byDatabase].map(([id, own]) => [id, own.flatMap((each) => failures.get(each.id) ?? [])])),
      drills,
      undrilledSince: undrilled.length === 0 ? new Map() : await stores.restores.oldestBackups(undrilled),
    };
  }

  return {
    async summaries(paging: Paging): Promise<Page<ResourceSummary>> {
      requireAbility(scope, "read");
      const { items, total } = await stores.resources.listIds(paging);
      if (items.length === 0) return { items: [], total };
      const ids = items.map(({ id }) => id);
      const databaseIds = items.flatMap(({ id, kind }) => (kind === "database" ? [id] : []));
      const found = new Map((await stores.resources.summaries(ids)).map((each) => [each.id, each]));
      const deployments = new Map((await stores.deployments.newestOf(ids)).map((each) => [each.resource_id, each]));
      const backups = await backupsOf(databaseIds);
      // Skips resources that were removed between the reads.
      const listed = ids.flatMap((id) => {
        const resource = found.get(id);
        if (resource === undefined) return [];
        return resourceSummaryView(resource, {
          lastDeployment: deployments.get(id),
          failedBackups: backups.failures.get(id) ?? [],
          lastDrill: backups.drills.get(id),
          undrilledSince: backups.undrilledSince.get(id),
          publicUrl: (url) => context.publicUrl(url, resource.server_id),
          urlProblem: (url) => context.urlProblem(url, resource.server_id),
        });
      });
      return { items: listed, total };
    },

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
