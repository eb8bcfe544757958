import { DomainError, notFound } from "@berth/core";
import type { EnvironmentStore } from "@berth/core/ports";
import { sql } from "kysely";
import { type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { countRows, page, within } from "./page.ts";

const COLUMNS = [
  "environment.id",
  "environment.uuid",
  "environment.project_id",
  "environment.name",
  "environment.description",
  "environment.created_at",
  "environment.updated_at",
] as const;

export function environmentStore({ db, teamId }: TeamContext): EnvironmentStore {
  const own = () =>
    db
      .selectFrom("environment")
      .innerJoin("project", "project.id", "environment.project_id")
      .where("project.team_id", "=", teamId);

  return {
    list: (projectId, paging = {}) =>
      page(
        paging,
        (window) =>
          within(
            own().where("environment.project_id", "=", projectId).select(COLUMNS).orderBy("environment.id"),
            window,
          ).execute(),
        () => countRows(own().where("environment.project_id", "=", projectId)),
      ),
    find: (projectId, nameOrUuid) =>
      own()
        .where("environment.project_id", "=", projectId)
        .where((eb) => eb.or([eb("environment.name", "=", nameOrUuid), eb("environment.uuid", "=", nameOrUuid)]))
        .select(COLUMNS)
        .orderBy(sql`environment.name = ${nameOrUuid}`, "desc")
        .limit(1)
        .executeTakeFirst(),
    findByUuid: (uuid) =>
      own()
        .where("environment.uuid", "=", uuid)
        .select([...COLUMNS, "project.uuid as project_uuid"])
        .forKeyShare("environment")
        .executeTakeFirst(),
    async insert(environment) {
      const project = await db
        .selectFrom("project")
        .select("id")
        .where("id", "=", environment.project_id)
        .where("team_id", "=", teamId)
        .executeTakeFirst();
      if (project === undefined) throw notFound("Project");
      const inserted = await db
        .insertInto("environment")
        .values(environment)
        // An error would abort the caller's transaction.
        .onConflict((conflict) => conflict.constraint("environment_name").doNothing())
        .returning(COLUMNS)
        .executeTakeFirst();
      if (inserted !== undefined) return inserted;
      throw new DomainError(
        "resource.already_exists",
        `An environment named ${environment.name} exists in this project. Choose another name.`,
      );
    },
    async deleteIfEmpty(id) {
      const ownProjects = db.selectFrom("project").select("id").where("team_id", "=", teamId);
      const deleted = await undefinedOn(isForeignKeyViolation, () =>
        db
          .deleteFrom("environment")
          .where("id", "=", id)
          .where("project_id", "in", ownProjects)
          .where(({ not, exists, selectFrom }) =>
            not(exists(selectFrom("resource").select("id").whereRef("environment_id", "=", "environment.id"))),
          )
          .executeTakeFirst(),
      );
      return deleted !== undefined && deleted.numDeletedRows > 0n;
    },
  };
}
