import { DomainError } from "@berth/core";
import type { TeamStore } from "@berth/core/ports";
import { ROOT_USER_ID } from "@berth/core/team";
import { sql } from "kysely";
import { inTransaction, isId, isRoot, type TeamContext } from "./context.ts";
import { countRows, page, within } from "./page.ts";
import { pick } from "./pick.ts";

export const TEAM_COLUMNS = [
  "id",
  "name",
  "description",
  "personal_team",
  "show_boarding",
  "second_factor_required",
  "created_at",
  "updated_at",
] as const;

const NO_TEAM = -1;

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
    update: (id, change) =>
      db
        .updateTable("team")
        .set({ ...pick(change, ["name", "description", "second_factor_required"]), updated_at: sql<Date>`now()` })
        .where("id", "=", isId(id) && (id === teamId || isRoot(context)) ? id : NO_TEAM)
        .returning(TEAM_COLUMNS)
        .executeTakeFirst(),
    async alone() {
      // Weaker than a deletion's lock, so that transactions that only refer to the team continue.
      await db.selectFrom("team").select("id").where("id", "=", teamId).forNoKeyUpdate().execute();
    },
    async insert({ owner_id = ROOT_USER_ID, ...team }) {
      if (!isRoot(context)) {
        throw new DomainError("auth.root_team_only", "Only the root team may create teams.");
      }
      return await inTransaction(context, async ({ db: tx }) => {
        const made = await tx.insertInto("team").values(team).returning(TEAM_COLUMNS).executeTakeFirstOrThrow();
        const owner = { team_id: made.id, user_id: owner_id, role: "owner", accepted_at: new Date() } as const;
        await tx.insertInto("team_member").values(owner).execute();
        return made;
      });
    },
  };
}
