import { DomainError, type TeamStore } from "@berth/core";
import { isId, isRoot, type TeamContext } from "./context.ts";
import { countRows, page, within } from "./page.ts";

export const TEAM_COLUMNS = [
  "id",
  "name",
  "description",
  "personal_team",
  "show_boarding",
  "created_at",
  "updated_at",
] as const;

/** The root team sees all teams, any other sees itself. */
export function teamStore(context: TeamContext): TeamStore {
  const { db, teamId } = context;
  const visible = () => db.selectFrom("team").$if(!isRoot(context), (query) => query.where("id", "=", teamId));
  return {
    current: () => db.selectFrom("team").select(TEAM_COLUMNS).where("id", "=", teamId).executeTakeFirst(),
    list: (paging = {}) =>
      page(
        paging,
        (window) => within(visible().select(TEAM_COLUMNS).orderBy("id"), window).execute(),
        () => countRows(visible()),
      ),
    find: async (id) =>
      isId(id) ? await visible().select(TEAM_COLUMNS).where("id", "=", id).executeTakeFirst() : undefined,
    async insert(team) {
      if (!isRoot(context)) {
        throw new DomainError("auth.root_team_only", "Only the root team makes teams.");
      }
      return await db.insertInto("team").values(team).returning(TEAM_COLUMNS).executeTakeFirstOrThrow();
    },
  };
}
