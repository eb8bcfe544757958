import { DomainError, notFound } from "@berth/core";
import type { MemberStore } from "@berth/core/ports";
import { ROOT_USER_ID } from "@berth/core/team";
import { sql } from "kysely";
import { inTransaction, isId, isRoot, type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { TOKEN_COLUMNS } from "./token.ts";

const COLUMNS = [
  "user.id",
  "user.name",
  "user.email",
  "team_member.role",
  "team_member.accepted_at",
  "user.created_at",
  "user.updated_at",
] as const;

// An id that no team and no user has.
const NOBODY = -1;

/** The root team sees members of all teams, other teams their own. */
export function memberStore(context: TeamContext): MemberStore {
  const { db, teamId: ownId } = context;
  const seen = (teamId: number) => (isId(teamId) && (teamId === ownId || isRoot(context)) ? teamId : NOBODY);
  const user = (id: number) => (isId(id) ? id : NOBODY);
  const members = () =>
    db.selectFrom("team_member").innerJoin("user", "user.id", "team_member.user_id").select(COLUMNS);
  const find: MemberStore["find"] = (teamId, userId) =>
    members()
      .where("team_member.team_id", "=", seen(teamId))
      .where("team_member.user_id", "=", user(userId))
      .executeTakeFirst();
  return {
    list: (teamId, paging = {}) =>
      page(
        paging,
        (window) => {
          const order = { owner: "team_member.team_id", is: seen(teamId), id: "team_member.user_id" } as const;
          return within(ofOwner(members(), order), window).execute();
        },
        () => countRows(db.selectFrom("team_member").where("team_id", "=", seen(teamId))),
      ),
    find,
    insert: (teamId, member) =>
      inTransaction(context, (tx) => {
        if (seen(teamId) !== teamId) throw notFound("Team");
        return insert(tx, teamId, member);
      }),
    async setRole(teamId, userId, role, provider_id) {
      await db
        .updateTable("team_member")
        .set({ role, provider_id: provider_id ?? null })
        .where("team_id", "=", seen(teamId))
        .where("user_id", "=", user(userId))
        .execute();
      await db
        .deleteFrom("token")
        .where("team_id", "=", seen(teamId))
        .where("user_id", "=", user(userId))
        .where("kind", "=", "session")
        .execute();
      await db
        .deleteFrom("sign_in_link")
        .where("team_id", "=", seen(teamId))
        .where("user_id", "=", user(userId))
        .execute();
      return await find(teamId, userId);
    },
    delete: (teamId, userId, { keepsUser } = { keepsUser: false }) =>
      inTransaction(context, async (tx) => {
        const { numDeletedRows: count } = await tx.db
          .deleteFrom("team_member")
          .where("team_id", "=", seen(teamId))
          .where("user_id", "=", user(userId))
          .executeTakeFirst();
        if (count > 0n && !keepsUser) await forgetStranger(tx, userId);
        return count > 0n;
      }),
    async lockOwners(teamId) {
      await db.selectFrom("team").select("id").where("id", "=", seen(teamId)).forNoKeyUpdate().execute();
      const owners = await db
        .selectFrom("team_member")
        .select("user_id")
        .where("team_id", "=", seen(teamId))
        .where("role", "=", "owner")
        .execute();
      return owners.map(({ user_id }) => user_id);
    },
    async insertLink(link) {
      if (seen(link.team_id) !== link.team_id) throw notFound("Team");
      await db.deleteFrom("sign_in_link").where("expires_at", "<=", sql<Date>`now()`).execute();
      const made = await undefinedOn(isForeignKeyViolation, () =>
        db.insertInto("sign_in_link").values(link).executeTakeFirst(),
      );
      if (made === undefined) throw notFound("User");
    },
    tokens: (teamId, userId) =>
      db
        .selectFrom("token")
        .select(TOKEN_COLUMNS)
        .where("team_id", "=", seen(teamId))
        .where("user_id", "=", user(userId))
        .where("kind", "=", "api")
        .orderBy("id")
        .execute(),
  };
}

async function insert(
  context: TeamContext,
  teamId: number,
  { email, name, role }: Parameters<MemberStore["insert"]>[1],
): ReturnType<MemberStore["insert"]> {
  const { db } = context;
  const { id } = await db
    .insertInto("user")
    .values({ email, name })
    // Changes nothing but locks the row, so that the user is not deleted before they become a member.
    .onConflict((conflict) => conflict.column("email").doUpdateSet({ email }))
    .returning("id")
    .executeTakeFirstOrThrow();
  const made = await db
    .insertInto("team_member")
    .values({ team_id: teamId, user_id: id, role })
    .onConflict((conflict) => conflict.doNothing())
    .returning("user_id")
    .executeTakeFirst();
  if (made === undefined) {
    throw new DomainError("resource.already_exists", "This user is a member already. Change their role instead.");
  }
  const member = await memberStore(context).find(teamId, id);
  if (member === undefined) throw notFound("User");
  return member;
}

/** Two statements, so that the second sees what was committed while the first waited for the lock. */
async function forgetStranger({ db }: TeamContext, userId: number): Promise<void> {
  if (userId === ROOT_USER_ID) return;
  await db.selectFrom("user").select("id").where("id", "=", userId).forUpdate().execute();
  await db
    .deleteFrom("user")
    .where("id", "=", userId)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(selectFrom("team_member").select(sql.lit(1).as("one")).whereRef("team_member.user_id", "=", "user.id")),
      ),
    )
    .execute();
}
