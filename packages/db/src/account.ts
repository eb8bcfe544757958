import { DomainError } from "@berth/core";
import type { AccountStore, SessionRecord, TeamMembership } from "@berth/core/ports";
import { sql } from "kysely";
import { isId, type StoreContext } from "./context.ts";
import { violates } from "./errors.ts";
import { isAnyOf, lookup } from "./lookup.ts";
import { pick } from "./pick.ts";
import type { DB } from "./schema.ts";
import { lacksSecondFactor, lacksSecondFactorSomewhere } from "./token.ts";

const ACCOUNT = ["id", "name", "email", "password_hash"] as const;
const SESSION = [
  ...["id", "team_id", "user_id", "device", "address"],
  ...["confirmed_at", "expires_at", "last_used_at", "created_at"],
] as const satisfies readonly (keyof DB["token"])[];

/** Users are independent of teams, so this store has no team. */
export function accountStore({ db }: StoreContext): AccountStore {
  const users = () => db.selectFrom("user").select(ACCOUNT);
  const ofUser = (userId: number) =>
    db
      .selectFrom("token")
      .select(SESSION)
      .select(lacksSecondFactor.as("lacks_second_factor"))
      .where("kind", "=", "session")
      .where("user_id", "=", userId);
  return {
    findByEmail: (email) => users().where("email", "=", email).executeTakeFirst(),
    find: (id) => users().where("id", "=", id).executeTakeFirst(),
    lock: (id) => users().where("id", "=", id).forUpdate().executeTakeFirst(),
    async update(id, change) {
      try {
        const fields = { ...pick(change, ["name", "email"]), updated_at: sql<Date>`now()` };
        await db.updateTable("user").set(fields).where("id", "=", id).execute();
      } catch (error) {
        if (!violates(error, "user_email")) throw error;
        throw new DomainError("resource.already_exists", "Another user has this email address.");
      }
      if (change.name === undefined) return;
      // Events name who acts by their session.
      await db
        .updateTable("token")
        .set({ name: change.name })
        .where("user_id", "=", id)
        .where("kind", "=", "session")
        .execute();
    },
    async setPassword(id, password_hash) {
      await db.updateTable("user").set({ password_hash, updated_at: sql`now()` }).where("id", "=", id).execute();
    },
    teams: (userId) =>
      db
        .selectFrom("team_member")
        .innerJoin("team", "team.id", "team_member.team_id")
        .select(["team.id", "team.name", "team_member.role"])
        .where("team_member.user_id", "=", userId)
        .where("team_member.accepted_at", "is not", null)
        .orderBy("team.name")
        .orderBy("team.id")
        .execute(),
    async hasEarlierTeam(userId, teamId) {
      const { rows } = await sql<{ found: boolean }>`select exists (
        select from team_member as other
        left join team_member as own on own.user_id = other.user_id and own.team_id = ${teamId}
        where other.user_id = ${userId} and other.team_id <> ${teamId}
          and (other.accepted_at is not null or own.created_at is null or other.created_at <= own.created_at)
      ) as found`.execute(db);
      return rows[0]?.found === true;
    },
    async acceptTeam(userId, teamId) {
      await db
        .updateTable("team_member")
        .set({ accepted_at: sql`coalesce(accepted_at, now())` })
        .where("user_id", "=", userId)
        .where("team_id", "=", teamId)
        .execute();
    },
    async acceptTeams(userId) {
      await db
        .updateTable("team_member")
        .set({ accepted_at: sql`coalesce(accepted_at, now())` })
        .where("user_id", "=", userId)
        .execute();
    },
    signUp: (user) => db.insertInto("user").values(user).returning(ACCOUNT).executeTakeFirstOrThrow(),
    async join(user_id, { team_id, role }, provider_id) {
      const { rows } = await sql`
        insert into team_member (team_id, user_id, role, provider_id, accepted_at)
        select id, ${user_id}, ${role}, ${provider_id}, now() from team where id = ${team_id}
        on conflict (team_id, user_id) do update
          set role = excluded.role, provider_id = excluded.provider_id, accepted_at = excluded.accepted_at
          where team_member.accepted_at is null
        returning user_id`.execute(db);
      return rows.length > 0;
    },
    memberships: (userId) =>
      db
        .selectFrom("team_member")
        .select(["team_id", "role", "provider_id"])
        .where("user_id", "=", userId)
        .where("accepted_at", "is not", null)
        .orderBy("team_id")
        .execute(),

    async insertSession(session) {
      // Its abilities are limited by its user's role, like everything a user does.
      const row = { ...session, kind: "session" as const, abilities: JSON.stringify(["root"]) };
      return sessionOf(
        await db
          .insertInto("token")
          .values(row)
          .returning(SESSION)
          .returning(lacksSecondFactor.as("lacks_second_factor"))
          .executeTakeFirstOrThrow(),
      );
    },
    async current(userId, sessionId) {
      const found = await findCurrent(db, `${sessionId}`);
      if (found === undefined || found.user_id !== userId) return undefined;
      const { user_name: name, user_email: email, teams, ...session } = found;
      return { session: sessionOf(session), user: { id: userId, name, email }, teams };
    },
    async sessions(userId) {
      const rows = await ofUser(userId).where("expires_at", ">", sql<Date>`now()`).orderBy("id", "desc").execute();
      return rows.map(sessionOf);
    },
    async lacksSecondFactor(sessionId) {
      const found = await db
        .selectFrom("token")
        .select(lacksSecondFactorSomewhere.as("lacks_second_factor"))
        .where("id", "=", sessionId)
        .executeTakeFirst();
      return found?.lacks_second_factor ?? false;
    },
    async confirmSession(id, confirmed_at, passkey_id) {
      const proof = { confirmed_at, ...(passkey_id !== undefined && { passkey_id }) };
      await db.updateTable("token").set(proof).where("id", "=", id).where("kind", "=", "session").execute();
    },
    async moveSession({ id, user_id }, teamId) {
      const moved = await db
        .updateTable("token")
        .set({ team_id: teamId })
        .where("id", "=", id)
        .where("kind", "=", "session")
        .where(({ exists, selectFrom }) =>
          exists(
            selectFrom("team_member")
              .select(sql.lit(1).as("one"))
              .where("team_id", "=", isId(teamId) ? teamId : NO_TEAM)
              .where("user_id", "=", user_id)
              .where("accepted_at", "is not", null),
          ),
        )
        .executeTakeFirst();
      return moved.numUpdatedRows > 0n;
    },
    async deleteSession(userId, id) {
      if (!isId(id)) return false;
      const deleted = await db
        .deleteFrom("token")
        .where("id", "=", id)
        .where("user_id", "=", userId)
        .where("kind", "=", "session")
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
    async deleteSessions(userId, keptId) {
      const deleted = await db
        .deleteFrom("token")
        .where("user_id", "=", userId)
        .where("kind", "=", "session")
        .$if(keptId !== undefined, (query) => query.where("id", "!=", keptId ?? 0))
        .executeTakeFirst();
      return Number(deleted.numDeletedRows);
    },

    findLink: (hash) =>
      db
        .selectFrom("sign_in_link")
        .select(["user_id", "team_id", "replaces_password"])
        .where("hash", "=", hash)
        .where("expires_at", ">", sql<Date>`now()`)
        .executeTakeFirst(),
    async deleteLinks(userId, teamId) {
      await db
        .deleteFrom("sign_in_link")
        .where("user_id", "=", userId)
        .where((eb) =>
          eb.or([eb("replaces_password", "=", true), ...(teamId === undefined ? [] : [eb("team_id", "=", teamId)])]),
        )
        .execute();
    },
    async teamName(teamId) {
      return (await db.selectFrom("team").select("name").where("id", "=", teamId).executeTakeFirst())?.name;
    },
  };
}

const NO_TEAM = -1;

/** Teams of the user of `token`, by name. */
const TEAMS = sql<readonly TeamMembership[]>`(
  select coalesce(jsonb_agg(jsonb_build_object('id', team.id, 'name', team.name, 'role', team_member.role)
    order by team.name, team.id), '[]')
  from team_member join team on team.id = team_member.team_id
  where team_member.user_id = token.user_id and team_member.accepted_at is not null)`;

const findCurrent = lookup(
  (db, ids) =>
    db
      .selectFrom("token")
      .innerJoin("user", "user.id", "token.user_id")
      .select(SESSION.map((column) => `token.${column}` as const))
      .select(["user.name as user_name", "user.email as user_email"])
      .select([lacksSecondFactor.as("lacks_second_factor"), TEAMS.as("teams")])
      .where(isAnyOf("token.id", ids))
      .where("token.kind", "=", sql.lit("session"))
      .where("token.expires_at", ">", sql<Date>`now()`),
  ({ id }) => `${id}`,
);

type SessionRow = Omit<SessionRecord, "device" | "address" | "expires_at"> & {
  readonly device: string | null;
  readonly address: string | null;
  readonly expires_at: Date | null;
};

/** The table also has tokens for programs, which lack some of these fields; sessions have all of them. */
const sessionOf = ({ device, address, expires_at, ...row }: SessionRow): SessionRecord => ({
  ...row,
  device: device ?? "",
  address: address ?? "",
  expires_at: expires_at ?? row.created_at,
});
