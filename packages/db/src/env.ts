import { DomainError, notFound } from "@berth/core";
import { databaseNameIn, referencesIn } from "@berth/core/env";
import type { EnvRecord, EnvStore } from "@berth/core/ports";
import { type Selectable, sql } from "kysely";
import { idsOf, type StoreContext, type TeamContext } from "./context.ts";
import { violates } from "./errors.ts";
import { countRows, page, within } from "./page.ts";
import { pick } from "./pick.ts";
import type { DB } from "./schema.ts";
import { hex } from "./storable.ts";

const COLUMNS = [
  "env.id",
  "env.uuid",
  "env.key",
  "env.value",
  "env.is_preview",
  "env.is_literal",
  "env.is_multiline",
  "env.is_shown_once",
  "env.is_runtime",
  "env.is_buildtime",
  "env.is_required",
  "env.comment",
  "env.order",
  "env.created_at",
  "env.updated_at",
] as const;

const FIELDS = [
  "key",
  "is_preview",
  "is_literal",
  "is_multiline",
  "is_shown_once",
  "is_runtime",
  "is_buildtime",
  "is_required",
  "comment",
  "order",
] as const;

const TYPES = {
  key: "text",
  is_preview: "boolean",
  is_literal: "boolean",
  is_multiline: "boolean",
  is_shown_once: "boolean",
  is_runtime: "boolean",
  is_buildtime: "boolean",
  is_required: "boolean",
  comment: "text",
  order: "integer",
} as const satisfies Record<(typeof FIELDS)[number], string>;

type EnvRow = Omit<Selectable<DB["env"]>, "resource_id" | "names_database">;

/** Stored beside the encrypted value, so that users of a database are found without decrypting all values. */
const namesDatabase = (value: string | null): boolean =>
  referencesIn([value]).some((reference) => databaseNameIn(reference) !== undefined);

const place = (uuid: string) => `env ${uuid} value`;
const seal = ({ cipher }: StoreContext, uuid: string, value: string | null) =>
  value === null ? null : cipher.seal(value, place(uuid));
const record = ({ cipher }: StoreContext, row: EnvRow): EnvRecord => ({
  ...row,
  value: row.value === null ? null : cipher.open(row.value, place(row.uuid)),
});

export function envStore(context: TeamContext): EnvStore {
  const { db, teamId } = context;
  const ownResource = (resourceId: number) =>
    db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);
  const ofResource = (resourceId: number) =>
    db.selectFrom("env").where("env.resource_id", "in", ownResource(resourceId));
  return {
    list: (resourceId, paging = {}) =>
      page(
        paging,
        async (window) => {
          const query = ofResource(resourceId).select(COLUMNS).orderBy("env.is_preview").orderBy("env.id");
          return (await within(query, window).execute()).map((row) => record(context, row));
        },
        () => countRows(ofResource(resourceId)),
      ),
    async findByKey(resourceId, key, isPreview) {
      const row = await ofResource(resourceId)
        .select(COLUMNS)
        .where("env.key", "=", key)
        .where("env.is_preview", "=", isPreview)
        .executeTakeFirst();
      return row && record(context, row);
    },
    async findByKeys(resourceIds, keys) {
      const rows = await db
        .selectFrom("env")
        .innerJoin("resource", "resource.id", "env.resource_id")
        .select([...COLUMNS, "env.resource_id"])
        .where("resource.team_id", "=", teamId)
        .where("env.resource_id", "in", idsOf(resourceIds))
        .where("env.is_preview", "=", false)
        .where("env.key", "in", keys)
        .execute();
      return rows.map(({ resource_id, ...row }) => ({ ...record(context, row), resource_id }));
    },
    async namingDatabases(environmentId) {
      const rows = await db
        .selectFrom("env")
        .innerJoin("resource", "resource.id", "env.resource_id")
        .select([...COLUMNS, "resource.id as resource_id", "resource.uuid as resource_uuid"])
        .select(["resource.name as resource_name", "resource.kind as resource_kind"])
        .where("resource.team_id", "=", teamId)
        .where("resource.environment_id", "=", environmentId)
        .where("resource.removing_at", "is", null)
        // Not a parameter, since the planner then could not use the partial index.
        .where("env.names_database", "=", sql.lit(true))
        .orderBy("env.id")
        .execute();
      return rows.map(({ resource_id, resource_uuid, resource_name, resource_kind, ...row }) => ({
        ...record(context, row),
        resource: { id: resource_id, uuid: resource_uuid, name: resource_name, kind: resource_kind },
      }));
    },
    async insert(resourceId, uuid, { value, ...fields }) {
      const owner = await ownResource(resourceId).executeTakeFirst();
      if (owner === undefined) throw notFound("Resource");
      const row = await db
        .insertInto("env")
        .values({
          ...pick(fields, FIELDS),
          uuid,
          resource_id: owner.id,
          value: seal(context, uuid, value),
          names_database: namesDatabase(value),
        })
        // An error would abort the caller's transaction.
        .onConflict((conflict) => conflict.constraint("env_key").doNothing())
        .returning(COLUMNS)
        .executeTakeFirst();
      if (row === undefined) throw taken(fields.key);
      return record(context, row);
    },
    async update(resourceId, uuid, { value, ...fields }) {
      const write = db
        .updateTable("env")
        .set({
          ...pick(fields, FIELDS),
          updated_at: sql<Date>`now()`,
          ...(value === undefined ? {} : { value: seal(context, uuid, value), names_database: namesDatabase(value) }),
        })
        .where("uuid", "=", uuid)
        .where("resource_id", "in", ownResource(resourceId))
        .returning(COLUMNS);
      const row = await write.executeTakeFirst().catch((error: unknown) => {
        throw violates(error, "env_key") ? taken(fields.key, error) : error;
      });
      return row && record(context, row);
    },
    async withKeys(resourceId, keys) {
      const named = sql<string>`(select unnest(${keys}::text[]))`;
      const rows = await ofResource(resourceId).select(COLUMNS).where("env.key", "in", named).execute();
      return rows.map((row) => record(context, row));
    },
    async saveAll(resourceId, variables) {
      const columns = FIELDS.map((field) => sql.ref(field));
      const arrays = FIELDS.map(
        (field) => sql`${variables.map((variable) => variable[field])}::${sql.raw(TYPES[field])}[]`,
      );
      const values = variables
        .map(({ uuid, value }) => seal(context, uuid, value))
        .map((sealed) => sealed && hex(sealed));
      const changes = [...FIELDS, "value", "names_database"].map(
        (column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`,
      );
      const write = sql<EnvRow>`
        insert into env (resource_id, uuid, value, names_database, ${sql.join(columns)})
        select owner.id, sent.uuid, decode(sent.value, 'hex'), sent.names_database,
          ${sql.join(FIELDS.map((field) => sql.ref(`sent.${field}`)))}
        from (${ownResource(resourceId)}) owner, unnest(
          ${variables.map(({ uuid }) => uuid)}::text[], ${values}::text[],
          ${variables.map(({ value }) => namesDatabase(value))}::boolean[], ${sql.join(arrays)}
        ) with ordinality sent (uuid, value, names_database, ${sql.join(columns)}, place)
        order by sent.place
        on conflict (uuid) do update set ${sql.join(changes)}, updated_at = now()
          where env.resource_id = excluded.resource_id
        returning ${sql.join(COLUMNS.map((column) => sql.ref(column)))}`;
      const { rows } = await write.execute(db).catch((error: unknown) => {
        throw violates(error, "env_key") ? taken(undefined, error) : error;
      });
      return rows.map((row) => record(context, row));
    },
    async delete(resourceId, uuid) {
      const deleted = await db
        .deleteFrom("env")
        .where("uuid", "=", uuid)
        .where("resource_id", "in", ownResource(resourceId))
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
  };
}

const taken = (key: string | undefined, cause?: unknown) =>
  new DomainError(
    "resource.already_exists",
    `The environment variable ${key ?? "of this change"} already exists. Update it, or choose another key.`,
    { cause },
  );
