import type { S3Credentials, S3StorageStore } from "@berth/core/ports";
import { sql } from "kysely";
import { type Context, idsOf, inTransaction, type TeamContext, undefinedOn } from "./context.ts";
import { isForeignKeyViolation } from "./errors.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { pick } from "./pick.ts";

const FIELDS = ["name", "description", "endpoint", "bucket", "region", "is_usable"] as const;
const COLUMNS = [
  "s3_storage.id",
  "s3_storage.uuid",
  "s3_storage.team_id",
  ...FIELDS.map((field) => `s3_storage.${field}` as const),
  "s3_storage.created_at",
  "s3_storage.updated_at",
] as const;

/** Sealed for its place: what is copied to another row does not open there. */
const place = (uuid: string) => `s3_storage ${uuid} credentials`;
const seal = ({ cipher }: Context, uuid: string, { key, secret }: S3Credentials) =>
  cipher.seal(JSON.stringify({ key, secret }), place(uuid));
// Sealed above from this type, and authenticated.
const open = ({ cipher }: Context, uuid: string, sealed: Uint8Array) =>
  JSON.parse(cipher.open(sealed, place(uuid))) as S3Credentials;

export function s3StorageStore(context: TeamContext): S3StorageStore {
  const { db, teamId } = context;
  const own = () => db.selectFrom("s3_storage").where("s3_storage.team_id", "=", teamId);
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) => {
          const owned = { owner: "s3_storage.team_id", is: teamId, id: "s3_storage.id" } as const;
          return within(ofOwner(db.selectFrom("s3_storage").select(COLUMNS), owned), window).execute();
        },
        () => countRows(own()),
      ),
    find: (uuid) => own().select(COLUMNS).where("uuid", "=", uuid).executeTakeFirst(),
    insert: (uuid, storage) =>
      db
        .insertInto("s3_storage")
        .values({ ...pick(storage, FIELDS), uuid, team_id: teamId, credentials: seal(context, uuid, storage) })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow(),
    update: (uuid, change) => inTransaction(context, (tx) => update(tx, uuid, change)),
    async credentialsOf(ids) {
      const rows = await own()
        .select(["s3_storage.id", "s3_storage.uuid", "s3_storage.credentials"])
        .where("s3_storage.id", "in", idsOf(ids))
        .execute();
      return new Map(rows.map(({ id, uuid, credentials }) => [id, open(context, uuid, credentials)]));
    },
    async deleteIfUnused(uuid) {
      // The reference refuses what a backup that is made in this very moment would lose.
      const deleted = await undefinedOn(isForeignKeyViolation, () =>
        db
          .deleteFrom("s3_storage")
          .where("team_id", "=", teamId)
          .where("uuid", "=", uuid)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom("scheduled_backup")
                  .select("scheduled_backup.id")
                  .whereRef("scheduled_backup.s3_storage_id", "=", "s3_storage.id"),
              ),
            ),
          )
          .executeTakeFirst(),
      );
      return deleted !== undefined && deleted.numDeletedRows > 0n;
    },
  };
}

async function update(
  context: TeamContext,
  uuid: string,
  { key, secret, ...fields }: Parameters<S3StorageStore["update"]>[1],
): ReturnType<S3StorageStore["update"]> {
  const { db, teamId } = context;
  const row = await db
    .updateTable("s3_storage")
    .set({ ...pick(fields, FIELDS), updated_at: sql<Date>`now()` })
    .where("team_id", "=", teamId)
    .where("uuid", "=", uuid)
    .returning([...COLUMNS, "credentials"])
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { credentials, ...storage } = row;
  if (key === undefined && secret === undefined) return storage;
  // The row is locked by the update above, so nobody changes the other half in between.
  const before = open(context, uuid, credentials);
  const sealed = seal(context, uuid, { key: key ?? before.key, secret: secret ?? before.secret });
  await db.updateTable("s3_storage").set({ credentials: sealed }).where("id", "=", storage.id).execute();
  return storage;
}
