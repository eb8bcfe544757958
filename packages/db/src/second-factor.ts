import type { SecondFactorStore } from "@berth/core/ports";
import { sql } from "kysely";
import { inTransaction, type StoreContext } from "./context.ts";

const place = (uuid: string) => `second_factor ${uuid} secret`;

export function secondFactorStore(context: StoreContext): SecondFactorStore {
  const { db, cipher } = context;
  return {
    async find(userId) {
      const row = await db
        .selectFrom("second_factor")
        .select(["uuid", "secret", "confirmed_at"])
        .select((eb) =>
          eb
            .selectFrom("recovery_code")
            .select(({ fn }) => fn.countAll<number>().as("count"))
            .whereRef("recovery_code.user_id", "=", "second_factor.user_id")
            .as("recovery_codes_left"),
        )
        .where("user_id", "=", userId)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { uuid, secret, confirmed_at, recovery_codes_left } = row;
      return {
        secret: cipher.open(secret, place(uuid)),
        confirmed_at,
        recovery_codes_left: Number(recovery_codes_left ?? 0),
      };
    },
    async begin(userId, uuid, secret) {
      const row = { uuid, secret: cipher.seal(secret, place(uuid)) };
      const begun = await db
        .insertInto("second_factor")
        .values({ ...row, user_id: userId })
        .onConflict((conflict) =>
          conflict
            .column("user_id")
            .doUpdateSet({ ...row, last_step: 0 })
            .where("second_factor.confirmed_at", "is", null),
        )
        .returning("user_id")
        .executeTakeFirst();
      return begun !== undefined;
    },
    async confirm(userId, confirmed_at) {
      const confirmed = await db
        .updateTable("second_factor")
        .set({ confirmed_at })
        .where("user_id", "=", userId)
        .where("confirmed_at", "is", null)
        .executeTakeFirst();
      return confirmed.numUpdatedRows > 0n;
    },
    setRecoveryCodes: (userId, hashes) =>
      inTransaction(context, async (tx) => {
        await tx.db.deleteFrom("recovery_code").where("user_id", "=", userId).execute();
        const rows = hashes.map((hash) => ({ user_id: userId, hash }));
        await tx.db.insertInto("recovery_code").values(rows).execute();
      }),
    async acceptStep(userId, step) {
      // One statement, so that of two requests with the same code one is refused.
      const accepted = await db
        .updateTable("second_factor")
        .set({ last_step: step })
        .where("user_id", "=", userId)
        .where("last_step", "<", sql<number>`${step}::bigint`)
        .executeTakeFirst();
      return accepted.numUpdatedRows > 0n;
    },
    async acceptRecoveryCode(userId, hash) {
      const used = await db
        .deleteFrom("recovery_code")
        .where("user_id", "=", userId)
        .where("hash", "=", hash)
        .executeTakeFirst();
      return used.numDeletedRows > 0n;
    },
    async delete(userId) {
      const deleted = await db.deleteFrom("second_factor").where("user_id", "=", userId).executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
  };
}
