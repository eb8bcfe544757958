import { DomainError } from "@berth/core";
import type { PasskeyRecord, PasskeyStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, isId, type StoreContext } from "./context.ts";
import { violates } from "./errors.ts";
import type { DB } from "./schema.ts";

const COLUMNS = [
  ...["id", "user_id", "name", "credential_id", "public_key", "counter", "transports", "origin", "is_synced"],
  ...["created_at", "last_used_at"],
] as const satisfies readonly (keyof DB["passkey"])[];

type Row = Omit<PasskeyRecord, "public_key"> & { readonly public_key: string };

const recordOf = ({ public_key, ...row }: Row): PasskeyRecord => ({
  ...row,
  public_key: Buffer.from(public_key, "base64url"),
});
const recordIf = (row: Row | undefined): PasskeyRecord | undefined => row && recordOf(row);

export function passkeyStore(context: StoreContext): PasskeyStore {
  const { db } = context;
  const passkeys = () => db.selectFrom("passkey").select(COLUMNS);
  return {
    list: async (userId) => (await passkeys().where("user_id", "=", userId).orderBy("id").execute()).map(recordOf),
    findByCredential: async (id) => recordIf(await passkeys().where("credential_id", "=", id).executeTakeFirst()),
    async insert({ transports, public_key, ...passkey }) {
      try {
        const stored = { transports: JSON.stringify(transports), public_key: textOf(public_key) };
        return recordOf(
          await db
            .insertInto("passkey")
            .values({ ...passkey, ...stored })
            .returning(COLUMNS)
            .executeTakeFirstOrThrow(),
        );
      } catch (error) {
        if (!violates(error, "passkey_credential")) throw error;
        throw new DomainError("resource.already_exists", "This passkey is registered already.");
      }
    },
    async rename(userId, id, name) {
      if (!isId(id)) return undefined;
      return recordIf(
        await db
          .updateTable("passkey")
          .set({ name })
          .where("id", "=", id)
          .where("user_id", "=", userId)
          .returning(COLUMNS)
          .executeTakeFirst(),
      );
    },
    async recordUse(id, use, last_used_at) {
      const used = await db
        .updateTable("passkey")
        .set({ ...use, last_used_at })
        .where("id", "=", id)
        .executeTakeFirst();
      return used.numUpdatedRows > 0n;
    },
    delete: (userId, id, keptSessionId) =>
      inTransaction(context, async (tx) => {
        if (!isId(id)) return undefined;
        await tx.db
          .deleteFrom("token")
          .where("passkey_id", "=", id)
          .where("user_id", "=", userId)
          .where("id", "!=", keptSessionId)
          .execute();
        return recordIf(
          await tx.db
            .deleteFrom("passkey")
            .where("id", "=", id)
            .where("user_id", "=", userId)
            .returning(COLUMNS)
            .executeTakeFirst(),
        );
      }),
    deleteAll: (userId) =>
      inTransaction(context, async (tx) => {
        await tx.db.deleteFrom("token").where("user_id", "=", userId).where("passkey_id", "is not", null).execute();
        const deleted = await tx.db.deleteFrom("passkey").where("user_id", "=", userId).executeTakeFirst();
        return Number(deleted.numDeletedRows);
      }),

    async insertChallenge(challenge) {
      await db.deleteFrom("passkey_challenge").where("expires_at", "<=", sql<Date>`now()`).execute();
      await db.insertInto("passkey_challenge").values(challenge).execute();
    },
    async takeChallenge(hash, purpose, userId) {
      const taken = await db
        .deleteFrom("passkey_challenge")
        .where("hash", "=", hash)
        .where("purpose", "=", purpose)
        .where("user_id", userId === null ? "is" : "=", userId)
        .where("expires_at", ">", sql<Date>`now()`)
        .executeTakeFirst();
      return taken.numDeletedRows > 0n;
    },
  };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64url");
