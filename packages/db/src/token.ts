import { notFound } from "@berth/core";
import type { Authenticator, TokenStore } from "@berth/core/ports";
import { SESSION_DAYS_MAX, SESSION_IDLE_DAYS } from "@berth/core/team";
import { type ExpressionBuilder, type RawBuilder, sql } from "kysely";
import type { Database } from "./client.ts";
import { isId, isRoot, type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { isAnyOf, lookup } from "./lookup.ts";
import { countRows, page, within } from "./page.ts";
import type { DB } from "./schema.ts";
import { API_ENABLED, SECOND_FACTOR_REQUIRED } from "./setting.ts";

export const TOKEN_COLUMNS = [
  "id",
  "team_id",
  "user_id",
  "name",
  "abilities",
  "expires_at",
  "last_used_at",
  "created_at",
] as const;

export function tokenStore(context: TeamContext): TokenStore {
  const { db, teamId } = context;
  const any = () => db.selectFrom("token").where("team_id", "=", teamId);
  const own = () => any().where("kind", "=", "api");
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) => within(own().select(TOKEN_COLUMNS).orderBy("id"), window).execute(),
        () => countRows(own()),
      ),
    async insert({ abilities, ...token }) {
      if (token.team_id !== teamId && !isRoot(context)) throw notFound("Team");
      const inserted = await undefinedOn(isForeignKeyViolation, () =>
        db
          .insertInto("token")
          .values({ ...token, abilities: JSON.stringify(abilities) })
          .returning(TOKEN_COLUMNS)
          .executeTakeFirstOrThrow(),
      );
      if (inserted === undefined) throw notFound("User");
      return inserted;
    },
    async delete(id) {
      if (!isId(id)) return false;
      const deleted = await db
        .deleteFrom("token")
        .where("id", "=", id)
        .where("team_id", "=", teamId)
        .where("kind", "=", "api")
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
    async isValid(id, role) {
      if (!isId(id)) return false;
      const found = await findValid(db, `${id}`);
      return found !== undefined && found.team_id === teamId && found.role === role;
    },
  };
}

function isNotExpired(eb: ExpressionBuilder<DB, "token">) {
  return eb.or([eb("expires_at", "is", null), eb("expires_at", ">", sql<Date>`now()`)]);
}

/**
 * A session without the second factor that its team or the instance requires. A passkey counts as two in the sessions
 * that it proved. Tokens are programs' and have none.
 */
export const lacksSecondFactor = lacksSecondFactorIf(
  sql`(select second_factor_required from team where team.id = token.team_id)`,
);

/** The same of a session that any of its user's teams requires it of. */
export const lacksSecondFactorSomewhere = lacksSecondFactorIf(sql`exists (
  select from team_member join team on team.id = team_member.team_id
  where team_member.user_id = token.user_id and team_member.accepted_at is not null and team.second_factor_required)`);

function lacksSecondFactorIf(isRequired: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`(token.kind = 'session'
  and (${isRequired}
    or coalesce((select value::boolean from setting where key = ${sql.lit(SECOND_FACTOR_REQUIRED)}), false))
  and token.passkey_id is null
  and (select second_factor.confirmed_at from second_factor where second_factor.user_id = token.user_id) is null)`;
}

const isApiEnabled = sql<boolean>`coalesce(
  (select value::boolean from setting where key = ${sql.lit(API_ENABLED)}), true)`;

// Beside another table that has columns of the same names.
const OF_TOKEN = [
  "token.id",
  "token.team_id",
  "token.user_id",
  "token.name",
  "token.abilities",
  "token.expires_at",
  "token.last_used_at",
  "token.created_at",
] as const;

/** Every open stream asks for its token every few seconds. */
const findValid = lookup(
  (db, ids) =>
    db
      .selectFrom("token")
      .innerJoin("team_member", (join) =>
        join.onRef("team_member.team_id", "=", "token.team_id").onRef("team_member.user_id", "=", "token.user_id"),
      )
      .select(["token.id", "token.team_id", "team_member.role"])
      .where(isAnyOf("token.id", ids))
      .where(isNotExpired)
      .where(({ or, eb }) => or([eb("token.kind", "=", sql.lit("session")), isApiEnabled]))
      .where(({ not }) => not(lacksSecondFactor)),
  ({ id }) => `${id}`,
);

/** Runs first in every request. */
const findByHash = lookup(
  (db, hashes) =>
    db
      .selectFrom("token")
      .innerJoin("team_member", (join) =>
        join.onRef("team_member.team_id", "=", "token.team_id").onRef("team_member.user_id", "=", "token.user_id"),
      )
      .select(OF_TOKEN)
      .select(["token.kind", "token.confirmed_at", "team_member.role", lacksSecondFactor.as("lacks_second_factor")])
      .select(isApiEnabled.as("is_api_enabled"))
      .select("token.hash")
      .where(isAnyOf("token.hash", hashes))
      .where(isNotExpired),
  ({ hash }) => hash,
);

const FLUSH_SECONDS = 10;

/**
 * The token lookup of every request: one query on two small indexes. Closing it also writes the pending times of last
 * use.
 */
export function authenticator(database: Database): Authenticator {
  const { kysely } = database;
  const uses = new Map<number, Date>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = [...uses].map(([id, at]) => ({ id, at }));
    uses.clear();
    if (batch.length === 0) return;
    await sql`update token set last_used_at = greatest(token.last_used_at, used.at),
      expires_at = case when token.kind = 'session'
        then least(used.at + make_interval(days => ${SESSION_IDLE_DAYS}),
          token.created_at + make_interval(days => ${SESSION_DAYS_MAX}))
        else token.expires_at end
      from jsonb_to_recordset(${JSON.stringify(batch)}::jsonb) as used (id bigint, at timestamptz)
      where token.id = used.id`.execute(kysely);
  }
  database.beforeClose(flush);

  return {
    async findToken(secretHash) {
      const found = await findByHash(kysely, secretHash);
      if (found === undefined) return undefined;
      const { hash: _, ...token } = found;
      return token;
    },
    touchToken(id, at) {
      uses.set(id, at);
      // If the write fails, e.g. while the database restarts, only the time of last use is a little older.
      timer ??= setTimeout(() => void flush().catch(() => undefined), FLUSH_SECONDS * 1000).unref();
    },
  };
}
