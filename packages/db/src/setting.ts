import type { InstanceSettingStore } from "@berth/core/ports";
import type { Context } from "./context.ts";

/** Setting that turns the API off for everyone. On unless set (D12). */
export const API_ENABLED = "is_api_enabled";

const INSTANCE_ID = "instance_id";

export function settingStore({ db }: Context): InstanceSettingStore {
  return {
    async isApiEnabled() {
      const row = await db.selectFrom("setting").select("value").where("key", "=", API_ENABLED).executeTakeFirst();
      return row?.value !== false;
    },
    async setApiEnabled(isEnabled) {
      const value = JSON.stringify(isEnabled);
      await db
        .insertInto("setting")
        .values({ key: API_ENABLED, value })
        .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
        .execute();
    },
    async instanceId(fresh) {
      const value = JSON.stringify(fresh);
      await db
        .insertInto("setting")
        .values({ key: INSTANCE_ID, value })
        .onConflict((conflict) => conflict.column("key").doNothing())
        .execute();
      const row = db.selectFrom("setting").select("value").where("key", "=", INSTANCE_ID);
      return String((await row.executeTakeFirstOrThrow()).value);
    },
  };
}
