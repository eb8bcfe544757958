import { DomainError, isDomainError, notFound } from "@berth/core";
import type { Application } from "@berth/core/application";
import { type DatabaseCollections, databaseCollections } from "@berth/core/database";
import type { EnvironmentRecord, Page, Paging, Stores } from "@berth/core/ports";
import type { Service } from "@berth/core/service";
import { type Environment, type EnvironmentCreate, environmentView, requireAbility } from "@berth/core/team";
import { afterRemovals } from "./after-removals.ts";
import { applicationViews } from "./application-answer.ts";
import type { UseCaseContext } from "./context.ts";
import { databaseViews } from "./database-answer.ts";
import { NAMED_TAKE, namedAfter } from "./named-resources.ts";
import { mapPage } from "./page.ts";
import { findProject } from "./project.ts";
import { serviceViews } from "./service-answer.ts";

/** @throws DomainError `resource.not_found` */
export async function findEnvironment(
  stores: Stores,
  projectId: number,
  nameOrUuid: string,
): Promise<EnvironmentRecord> {
  const environment = await stores.environments.find(projectId, nameOrUuid);
  if (environment === undefined) throw notFound("Environment");
  return environment;
}

/** An environment with its resources, by kind. */
export type EnvironmentContent = Environment &
  DatabaseCollections & {
    applications: Application[];
    services: Service[];
  };

export function environments(context: UseCaseContext) {
  const { scope, stores, ids } = context;
  return {
    async list(projectUuid: string, paging: Paging): Promise<Page<{ id: number; uuid: string; name: string }>> {
      requireAbility(scope, "read");
      const project = await findProject(stores, projectUuid);
      const page = await stores.environments.list(project.id, paging);
      return mapPage(page, ({ id, uuid, name }) => ({ id, uuid, name }));
    },

    async get(projectUuid: string, nameOrUuid: string): Promise<EnvironmentContent> {
      requireAbility(scope, "read");
      const project = await findProject(stores, projectUuid);
      const environment = await findEnvironment(stores, project.id, nameOrUuid);
      const here = { environment_id: environment.id };
      const { applications, services, databases } = stores;
      return {
        ...environmentView(environment),
        applications: await applicationViews(context, (await applications.list(here)).items),
        services: await serviceViews(context, (await services.list(here)).items),
        ...databaseCollections(await databaseViews(context, (await databases.list(here)).items)),
      };
    },

    /** @throws DomainError `resource.already_exists` */
    async create(projectUuid: string, { name, description = null }: EnvironmentCreate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const project = await findProject(tx, projectUuid);
        const uuid = ids.uuid();
        await insert(tx, { uuid, project_id: project.id, name, description });
        await tx.events.append({ type: "environment.created", resource_uuid: uuid, payload: { name } });
        return { uuid };
      });
    },

    /** Waits for resources that are being removed. @throws DomainError `resource.in_use` */
    async delete(projectUuid: string, nameOrUuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      const found = async (of: Stores) => findEnvironment(of, (await findProject(of, projectUuid)).id, nameOrUuid);
      const attempt = () =>
        stores.transaction(async (tx) => {
          const { id, uuid, name } = await found(tx);
          if (!(await tx.environments.deleteIfEmpty(id))) {
            const named = namedAfter(await tx.resources.listStayingIn([id], NAMED_TAKE));
            const sentence = `Environment has resources, so it cannot be deleted. Delete or move them first${named}`;
            throw new DomainError("resource.in_use", sentence);
          }
          await tx.events.append({ type: "environment.deleted", resource_uuid: uuid, payload: { name } });
        });
      const isUsed = async () => (await stores.resources.listStayingIn([(await found(stores)).id], 1)).length > 0;
      await afterRemovals(context, attempt, isUsed);
      return { message: "Environment deleted." };
    },
  };
}

async function insert(stores: Stores, environment: Parameters<Stores["environments"]["insert"]>[0]): Promise<void> {
  try {
    await stores.environments.insert(environment);
  } catch (cause) {
    if (!isDomainError(cause, "resource.already_exists")) throw cause;
    throw new DomainError("resource.already_exists", "Environment with this name already exists.", { cause });
  }
}
