import { DomainError, notFound } from "@berth/core";
import { SHARED_SCOPES, type SharedReference, type SharedScope } from "@berth/core/env";
import type { SeenVariable, SharedVariableOwner, SharedVariableRecord, SharedVariableStore } from "@berth/core/ports";
import { type RawBuilder, type Selectable, sql } from "kysely";
import { idsOf, type StoreContext, type TeamContext } from "./context.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { pick } from "./pick.ts";
import type { SharedVariableTable } from "./schema/resource.ts";
import { hex } from "./storable.ts";

const COLUMNS = [
  "id",
  "uuid",
  "key",
  "value",
  "is_multiline",
  "is_shown_once",
  "comment",
  "created_at",
  "updated_at",
] as const;
const FIELDS = ["key", "is_multiline", "is_shown_once", "comment"] as const;

const place = (scope: SharedScope, uuid: string) => `${scope}_variable ${uuid} value`;

/** All four tables have the same columns, so one type serves for all. */
const tableOf = (scope: SharedScope) => `${scope}_variable` as "project_variable";

/** Selects the owner if it belongs to the team. */
const OWNER = {
  team: (id, teamId) => sql`select owner.id from team owner where owner.id = ${id} and owner.id = ${teamId}`,
  project: (id, teamId) => sql`select owner.id from project owner where owner.id = ${id} and owner.team_id = ${teamId}`,
  environment: (id, teamId) => sql`select owner.id from environment owner
    join project on project.id = owner.project_id where owner.id = ${id} and project.team_id = ${teamId}`,
  server: (id, teamId) => sql`select owner.id from server owner where owner.id = ${id} and owner.team_id = ${teamId}`,
} as const satisfies Record<SharedScope, (id: number, teamId: number) => RawBuilder<unknown>>;

/** For each scope, the id of a resource's owner. */
const OWNER_OF_RESOURCE = {
  team: sql.ref("resource.team_id"),
  project: sql.ref("environment.project_id"),
  environment: sql.ref("resource.environment_id"),
  server: sql.ref("resource.server_id"),
} as const satisfies Record<SharedScope, unknown>;

export function sharedVariableStore(context: TeamContext): Omit<SharedVariableStore, "seenBy"> {
  const { db, teamId } = context;
  const rowOf = ({ scope, id }: SharedVariableOwner) => OWNER[scope](id, teamId);
  const idOf = (owner: SharedVariableOwner) => sql<number>`(${rowOf(owner)})`;
  const ofOwnTeam = (owner: SharedVariableOwner) =>
    db.selectFrom(tableOf(owner.scope)).where("owner_id", "in", idOf(owner));
  const seal = (scope: SharedScope, uuid: string, value: string | null) =>
    value === null ? null : context.cipher.seal(value, place(scope, uuid));
  return {
    async alone(owner) {
      const { rows } = await sql`${rowOf(owner)} for no key update of owner`.execute(db);
      return rows.length > 0;
    },
    list: (owner, paging = {}) =>
      page(
        paging,
        async (window) => {
          const query = ofOwner(ofOwnTeam(owner).select(COLUMNS), { owner: "owner_id", is: owner.id, id: "id" });
          return (await within(query, window).execute()).map((row) => record(context, owner.scope, row));
        },
        () => countRows(ofOwnTeam(owner)),
      ),
    async findByKey(owner, key) {
      const row = await ofOwnTeam(owner).select(COLUMNS).where("key", "=", key).executeTakeFirst();
      return row && record(context, owner.scope, row);
    },
    async insert(owner, uuid, { value, ...fields }) {
      const { rows } = await rowOf(owner).execute(db);
      if (rows.length === 0) throw notFound("Owner");
      const row = await db
        .insertInto(tableOf(owner.scope))
        .values({ ...pick(fields, FIELDS), uuid, owner_id: owner.id, value: seal(owner.scope, uuid, value) })
        // An error would abort the caller's transaction.
        .onConflict((conflict) => conflict.columns(["owner_id", "key"]).doNothing())
        .returning(COLUMNS)
        .executeTakeFirst();
      if (row === undefined) throw taken(fields.key);
      return record(context, owner.scope, row);
    },
    async update(owner, uuid, { value, ...fields }) {
      const row = await db
        .updateTable(tableOf(owner.scope))
        .set({
          ...pick(fields, FIELDS),
          updated_at: sql<Date>`now()`,
          ...(value === undefined ? {} : { value: seal(owner.scope, uuid, value) }),
        })
        .where("uuid", "=", uuid)
        .where("owner_id", "in", idOf(owner))
        .returning(COLUMNS)
        .executeTakeFirst();
      return row && record(context, owner.scope, row);
    },
    async withKeys(owner, keys) {
      const named = sql<string>`(select unnest(${keys}::text[]))`;
      const rows = await ofOwnTeam(owner).select(COLUMNS).where("key", "in", named).execute();
      return rows.map((row) => record(context, owner.scope, row));
    },
    async saveAll(owner, variables) {
      const { scope } = owner;
      const sealed = variables.map(({ uuid, value }) => seal(scope, uuid, value));
      const { rows } = await sql<Row>`
        insert into ${sql.table(tableOf(scope))} as variable
          (owner_id, uuid, value, key, is_multiline, is_shown_once, comment)
        select owner.id, sent.uuid, decode(sent.value, 'hex'), sent.key, is_multiline, is_shown_once, sent.comment
        from (${rowOf(owner)}) owner, unnest(
          ${variables.map(({ uuid }) => uuid)}::text[], ${sealed.map((value) => value && hex(value))}::text[],
          ${variables.map(({ key }) => key)}::text[], ${variables.map((one) => one.is_multiline)}::boolean[],
          ${variables.map((one) => one.is_shown_once)}::boolean[], ${variables.map(({ comment }) => comment)}::text[]
        ) with ordinality sent (uuid, value, key, is_multiline, is_shown_once, comment, place)
        order by sent.place
        on conflict (uuid) do update set value = excluded.value, is_multiline = excluded.is_multiline,
          is_shown_once = excluded.is_shown_once, comment = excluded.comment, updated_at = now()
          where variable.owner_id = excluded.owner_id
        returning ${sql.join(COLUMNS.map((column) => sql.ref(column)))}`.execute(db);
      return rows.map((row) => record(context, scope, row));
    },
    async delete(owner, uuid) {
      const deleted = await db
        .deleteFrom(tableOf(owner.scope))
        .where("uuid", "=", uuid)
        .where("owner_id", "in", idOf(owner))
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
  };
}

/** Those references that name shared variables. */
export async function seenShared(
  context: TeamContext,
  { resourceIds, serverId }: Seeing,
  references: readonly SharedReference[],
): Promise<readonly SeenVariable[]> {
  const byScope = SHARED_SCOPES.map((scope) => [scope, references.filter((one) => one.scope === scope)] as const);
  const wanted = byScope.filter(([, ofScope]) => ofScope.length > 0);
  if (wanted.length === 0) return [];
  const { rows } = await sql<SeenRow>`${sql.join(wanted.map(seen), sql` union all `)}`.execute(context.db);
  return rows.map(({ uuid, value, ...row }) => ({ ...row, value: open(context, row.scope, { uuid, value }) }));

  function seen([scope, ofScope]: readonly [SharedScope, readonly SharedReference[]]) {
    return sql`select resource.id as resource_id, ${scope}::text as scope,
        variable.uuid, variable.key, variable.value, variable.is_shown_once
      from resource join environment on environment.id = resource.environment_id
      join ${sql.table(tableOf(scope))} variable on variable.owner_id = ${ownerOf(scope, serverId)}
      where resource.team_id = ${context.teamId} and resource.id in ${idsOf(resourceIds)}
        and variable.key = any(${ofScope.map(({ key }) => key)}::text[])`;
  }
}

/** Resources whose variables refer to others, on one of their several servers if `serverId` is such a one. */
export interface Seeing {
  readonly resourceIds: readonly number[];
  readonly serverId?: number | undefined;
}

const ownerOf = (scope: SharedScope, serverId: number | undefined) =>
  scope !== "server" || serverId === undefined
    ? OWNER_OF_RESOURCE[scope]
    : sql`coalesce((select here.server_id from application_destination here where here.resource_id = resource.id
        and here.server_id = ${serverId}), resource.server_id)`;

interface SeenRow extends Omit<SeenVariable, "value" | "scope"> {
  readonly scope: SharedScope;
  readonly uuid: string;
  readonly value: Uint8Array | null;
}

const open = ({ cipher }: StoreContext, scope: SharedScope, { uuid, value }: Pick<Row, "uuid" | "value">) =>
  value === null ? null : cipher.open(value, place(scope, uuid));

type Row = Omit<Selectable<SharedVariableTable>, "owner_id">;

const record = (context: StoreContext, scope: SharedScope, row: Row): SharedVariableRecord => ({
  ...row,
  value: open(context, scope, row),
});

const taken = (key: string) =>
  new DomainError(
    "resource.already_exists",
    `The shared variable ${key} already exists. Update it, or choose another key.`,
  );
