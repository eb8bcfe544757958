import type { InstanceSettingStore } from "@berth/core";
import type { Context } from "./context.ts";

/** Key of the setting that turns the API off for everyone. On unless set (D12). */
export const API_ENABLED = "is_api_enabled";

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
  };
}
