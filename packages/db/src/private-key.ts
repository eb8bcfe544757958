import { notFound } from "@berth/core";
import type {
  CredentialUse,
  PrivateKeyFields,
  PrivateKeySecrets,
  PrivateKeyStore,
  PrivateKeyUser,
} from "@berth/core/ports";
import { keyExists, keyInUse } from "@berth/core/source";
import { type RawBuilder, sql } from "kysely";
import { idsOf, inTransaction, isId, type StoreContext, type TeamContext } from "./context.ts";
import { isForeignKeyViolation, violates } from "./errors.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { pick } from "./pick.ts";

const FIELDS = [
  "name",
  "description",
  "public_key",
  "fingerprint",
  "is_http_basic_auth_enabled",
  "http_basic_auth_username",
] as const;
const COLUMNS = ["id", "uuid", "team_id", ...FIELDS, "created_at", "updated_at"] as const;

/** A query of users for each table that refers to `private_key`. */
const USERS: readonly KeyUse[] = [
  {
    kind: "server",
    isGit: false,
    of: (keyId) =>
      sql`select uuid, name, removing_at is not null as "isRemoving" from server where private_key_id = ${keyId}`,
  },
  {
    kind: "application",
    isGit: true,
    of: (keyId) =>
      sql`select uuid, name, removing_at is not null as "isRemoving"
        from application join resource on resource.id = resource_id where private_key_id = ${keyId}`,
  },
  {
    kind: "GitHub app",
    isGit: true,
    of: (keyId) => sql`select uuid, name, false as "isRemoving" from github_app where private_key_id = ${keyId}`,
  },
];

interface KeyUse {
  readonly kind: PrivateKeyUser["kind"];
  readonly isGit: boolean;
  of(keyId: RawBuilder<unknown>): RawBuilder<Omit<PrivateKeyUser, "kind">>;
}

const GIT_USES = USERS.filter(({ isGit }) => isGit).map(({ of }) => sql`exists (${of(sql.ref("private_key.id"))})`);
const IS_GIT_RELATED = sql<boolean>`${GIT_USES.length === 0 ? sql.lit(false) : sql.join(GIT_USES, sql` or `)}`;
const RECORD = [...COLUMNS, IS_GIT_RELATED.as("is_git_related")] as const;

export function privateKeyStore(context: TeamContext): PrivateKeyStore {
  const { db, teamId } = context;
  const own = () => db.selectFrom("private_key").where("private_key.team_id", "=", teamId);
  const records = () => own().select(RECORD);
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) => {
          const query = db.selectFrom("private_key").select(RECORD);
          return within(
            ofOwner(query, { owner: "private_key.team_id", is: teamId, id: "private_key.id" }),
            window,
          ).execute();
        },
        () => countRows(own()),
      ),
    find: (uuid) => records().where("uuid", "=", uuid).executeTakeFirst(),
    findById: async (id) => (isId(id) ? await records().where("id", "=", id).executeTakeFirst() : undefined),
    findByFingerprint: (fingerprint) => records().where("fingerprint", "=", fingerprint).executeTakeFirst(),
    async secrets(id) {
      const secrets = isId(id) ? (await secretsOf(context, [id])).get(id) : undefined;
      if (secrets === undefined) throw notFound("Private Key");
      return secrets;
    },
    secretsFor: (id, use, origins) => inTransaction(context, (tx) => secretsFor(tx, id, { use, origins })),
    secretsOf: (ids) => secretsOf(context, ids),
    async insert({ uuid, ...key }) {
      const row = await db
        .insertInto("private_key")
        .values({ ...pick(key, FIELDS), uuid, team_id: teamId, secrets: sealSecrets(context, uuid, key) })
        // An error would abort the caller's transaction.
        .onConflict((conflict) => conflict.constraint("private_key_fingerprint").doNothing())
        .returning(RECORD)
        .executeTakeFirst();
      if (row === undefined) throw keyExists();
      return row;
    },
    async update(uuid, key) {
      return await db
        .updateTable("private_key")
        .set({ ...pick(key, FIELDS), updated_at: sql<Date>`now()`, secrets: sealSecrets(context, uuid, key) })
        .where("team_id", "=", teamId)
        .where("uuid", "=", uuid)
        .returning(RECORD)
        .executeTakeFirst()
        .catch((error: unknown) => {
          throw violates(error, "private_key_fingerprint") ? keyExists() : error;
        });
    },
    async users(id) {
      const key = isId(id) ? await own().select("id").where("id", "=", id).executeTakeFirst() : undefined;
      if (key === undefined) return [];
      const users: PrivateKeyUser[] = [];
      for (const { kind, of } of USERS) {
        const { rows } = await sql<Omit<PrivateKeyUser, "kind">>`${of(sql`${key.id}::bigint`)}
          order by name, uuid`.execute(db);
        users.push(...rows.map((user) => ({ kind, ...user })));
      }
      return users;
    },
    async delete(uuid) {
      const deleted = await db
        .deleteFrom("private_key")
        .where("team_id", "=", teamId)
        .where("uuid", "=", uuid)
        .executeTakeFirst()
        .catch((error: unknown) => {
          throw isForeignKeyViolation(error) ? keyInUse([]) : error;
        });
      return deleted.numDeletedRows > 0n;
    },
  };
}

async function secretsOf(
  context: TeamContext,
  ids: readonly number[],
): Promise<ReadonlyMap<number, PrivateKeySecrets>> {
  const { db, teamId } = context;
  const rows = await db
    .selectFrom("private_key")
    .select(["id", "uuid", "secrets"])
    .where("id", "in", idsOf(ids))
    .where("team_id", "=", teamId)
    .execute();
  return new Map(rows.map(({ id, uuid, secrets }) => [id, openSecrets(context, uuid, secrets)]));
}

async function secretsFor(
  context: TeamContext,
  id: number,
  { use, origins }: { readonly use: CredentialUse; readonly origins: readonly string[] },
): Promise<PrivateKeySecrets> {
  const secrets = isId(id) ? (await secretsOf(context, [id])).get(id) : undefined;
  if (secrets === undefined) throw notFound("Private Key");
  if (secrets[FIELD_OF_USE[use]] !== undefined) return secrets;
  // Locked, so that the first recorded origins stay.
  const key = await context.db
    .selectFrom("private_key")
    .select(["uuid", "secrets"])
    .where("id", "=", id)
    .where("team_id", "=", context.teamId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (key === undefined) throw notFound("Private Key");
  const current = openSecrets(context, key.uuid, key.secrets);
  const recorded = { ...current, [FIELD_OF_USE[use]]: current[FIELD_OF_USE[use]] ?? origins };
  const sealed = sealSecrets(context, key.uuid, { secrets: recorded });
  await context.db.updateTable("private_key").set({ secrets: sealed }).where("id", "=", id).execute();
  return recorded;
}

const FIELD_OF_USE = { login: "login_origins", app: "app_origins" } as const satisfies Record<CredentialUse, string>;

/** Encrypted by this package from the same type, and authenticated. */
const openSecrets = ({ cipher }: StoreContext, uuid: string, sealed: Uint8Array): PrivateKeySecrets =>
  JSON.parse(cipher.open(sealed, place(uuid)));

const sealSecrets = (
  { cipher }: StoreContext,
  uuid: string,
  { secrets }: Pick<PrivateKeyFields, "secrets">,
): Uint8Array => cipher.seal(JSON.stringify(secrets), place(uuid));

const place = (uuid: string) => `private_key ${uuid} secrets`;
