import type { ProjectStore } from "@berth/core/ports";
import { sql } from "kysely";
import { type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { countRows, page, within } from "./page.ts";

const COLUMNS = ["id", "uuid", "team_id", "name", "description", "created_at", "updated_at"] as const;

export function projectStore({ db, teamId }: TeamContext): ProjectStore {
  const own = () => db.selectFrom("project").where("team_id", "=", teamId);
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) => within(own().select(COLUMNS).orderBy("id"), window).execute(),
        () => countRows(own()),
      ),
    find: (uuid) => own().select(COLUMNS).where("uuid", "=", uuid).executeTakeFirst(),
    insert: (project) =>
      db
        .insertInto("project")
        .values({ ...project, team_id: teamId })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow(),
    update: (uuid, { name, description }) =>
      db
        .updateTable("project")
        .set({
          updated_at: sql<Date>`now()`,
          ...(name === undefined ? {} : { name }),
          ...(description === undefined ? {} : { description }),
        })
        .where("team_id", "=", teamId)
        .where("uuid", "=", uuid)
        .returning(COLUMNS)
        .executeTakeFirst(),
    async deleteIfEmpty(uuid) {
      // Its environments are deleted too. The foreign key protects a resource that is being created at the same
      // moment.
      const deleted = await undefinedOn(isForeignKeyViolation, () =>
        db
          .deleteFrom("project")
          .where("team_id", "=", teamId)
          .where("uuid", "=", uuid)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom("resource")
                  .innerJoin("environment", "environment.id", "resource.environment_id")
                  .select("resource.id")
                  .whereRef("environment.project_id", "=", "project.id"),
              ),
            ),
          )
          .executeTakeFirst(),
      );
      return deleted !== undefined && deleted.numDeletedRows > 0n;
    },
  };
}
