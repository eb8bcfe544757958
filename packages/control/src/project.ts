import { DomainError, notFound } from "@berth/core";
import type { Page, Paging, ProjectRecord, Stores } from "@berth/core/ports";
import {
  FIRST_ENVIRONMENT,
  type Project,
  type ProjectCreate,
  type ProjectSummary,
  type ProjectUpdate,
  projectSummary,
  projectView,
  requireAbility,
} from "@berth/core/team";
import { afterRemovals } from "./after-removals.ts";
import type { UseCaseContext } from "./context.ts";
import { NAMED_TAKE, namedAfter } from "./named-resources.ts";
import { mapPage } from "./page.ts";

/** @throws DomainError `resource.not_found` */
export async function findProject(stores: Stores, uuid: string): Promise<ProjectRecord> {
  const project = await stores.projects.find(uuid);
  if (project === undefined) throw notFound("Project");
  return project;
}

export function projects(context: UseCaseContext) {
  const { scope, stores, ids } = context;
  return {
    async list(paging: Paging): Promise<Page<ProjectSummary>> {
      requireAbility(scope, "read");
      return mapPage(await stores.projects.list(paging), projectSummary);
    },

    async get(uuid: string): Promise<Project> {
      requireAbility(scope, "read");
      const project = await findProject(stores, uuid);
      const environments = await stores.environments.list(project.id);
      return projectView(project, environments.items);
    },

    /** Also creates its first environment. */
    async create({ name, description = null }: ProjectCreate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const project = await tx.projects.insert({ uuid: ids.uuid(), name, description });
        const first = { uuid: ids.uuid(), project_id: project.id, name: FIRST_ENVIRONMENT, description: null };
        await tx.environments.insert(first);
        await tx.events.append({ type: "project.created", resource_uuid: project.uuid, payload: { name } });
        return { uuid: project.uuid };
      });
    },

    async update(uuid: string, { name, description }: ProjectUpdate): Promise<Omit<ProjectSummary, "id">> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const project = await tx.projects.update(uuid, { name: name ?? undefined, description });
        if (project === undefined) throw notFound("Project");
        await tx.events.append({ type: "project.updated", resource_uuid: uuid, payload: { name: project.name } });
        return { uuid, name: project.name, description: project.description };
      });
    },

    /** Waits for resources that are being removed. @throws DomainError `resource.in_use` */
    async delete(uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      const attempt = () =>
        stores.transaction(async (tx) => {
          const { id, name } = await findProject(tx, uuid);
          if (!(await tx.projects.deleteIfEmpty(uuid))) {
            const named = namedAfter(await stayingIn(tx, id, NAMED_TAKE));
            const sentence = `Project has resources, so it cannot be deleted. Delete or move them first${named}`;
            throw new DomainError("resource.in_use", sentence);
          }
          await tx.events.append({ type: "project.deleted", resource_uuid: uuid, payload: { name } });
        });
      const isUsed = async () => (await stayingIn(stores, (await findProject(stores, uuid)).id, 1)).length > 0;
      await afterRemovals(context, attempt, isUsed);
      return { message: "Project deleted." };
    },
  };
}

async function stayingIn({ environments, resources }: Stores, projectId: number, take: number) {
  const { items } = await environments.list(projectId);
  const ids = items.map(({ id }) => id);
  return await resources.listStayingIn(ids, take);
}
