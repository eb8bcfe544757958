import { isSameOrigin, OriginCredential } from "@berth/core";
import type { S3Credentials, S3StorageStore } from "@berth/core/ports";
import { sql } from "kysely";
import { idsOf, inTransaction, type StoreContext, type TeamContext, undefinedOn } from "./context.ts";
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

/** Encrypted for its row: a value copied to another row cannot be decrypted. */
const place = (uuid: string) => `s3_storage ${uuid} credentials`;
/** `null`: the endpoint moved to another origin without new credentials. */
const seal = ({ cipher }: StoreContext, uuid: string, credentials: S3Credentials | null) =>
  cipher.seal(JSON.stringify(credentials && pick(credentials, ["key", "secret"])), place(uuid));
// Encrypted above from this type, and authenticated.
const open = ({ cipher }: StoreContext, uuid: string, sealed: Uint8Array) =>
  JSON.parse(cipher.open(sealed, place(uuid))) as S3Credentials | null;

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
        .select(["s3_storage.id", "s3_storage.uuid", "s3_storage.endpoint", "s3_storage.credentials"])
        .where("s3_storage.id", "in", idsOf(ids))
        .execute();
      return new Map(
        rows.flatMap(({ id, uuid, endpoint, credentials }) => {
          const opened = open(context, uuid, credentials);
          return opened === null ? [] : [[id, new OriginCredential([endpoint], opened)] as const];
        }),
      );
    },
    async deleteIfUnused(uuid) {
      // The foreign key protects a backup that is being created at the same moment.
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
  const before = await db
    .selectFrom("s3_storage")
    .select(["endpoint", "credentials"])
    .where("team_id", "=", teamId)
    .where("uuid", "=", uuid)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (before === undefined) return undefined;
  const kept = isSameOrigin(before.endpoint, fields.endpoint ?? before.endpoint)
    ? open(context, uuid, before.credentials)
    : null;
  const [nextKey, nextSecret] = [key ?? kept?.key, secret ?? kept?.secret];
  const next = nextKey === undefined || nextSecret === undefined ? null : { key: nextKey, secret: nextSecret };
  const row = await db
    .updateTable("s3_storage")
    .set({ ...pick(fields, FIELDS), credentials: seal(context, uuid, next), updated_at: sql<Date>`now()` })
    .where("team_id", "=", teamId)
    .where("uuid", "=", uuid)
    .returning(COLUMNS)
    .executeTakeFirst();
  return row && { ...row, isCredentialDropped: next === null };
}
