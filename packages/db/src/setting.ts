import type { InstanceSettingStore } from "@berth/core/ports";
import type { Context } from "./context.ts";

/** Key of the setting that turns the API off for everyone. On unless set (D12). */
export const API_ENABLED = "is_api_enabled";

/** Key of the setting that makes sessions of all teams need a second factor. */
export const SECOND_FACTOR_REQUIRED = "second_factor_required";

const INSTANCE_ID = "instance_id";

export function settingStore({ db }: Context): InstanceSettingStore {
  async function read(key: string): Promise<unknown> {
    return (await db.selectFrom("setting").select("value").where("key", "=", key).executeTakeFirst())?.value;
  }
  async function set(key: string, content: unknown): Promise<void> {
    const value = JSON.stringify(content);
    await db
      .insertInto("setting")
      .values({ key, value })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
      .execute();
  }
  return {
    isApiEnabled: async () => (await read(API_ENABLED)) !== false,
    setApiEnabled: (isEnabled) => set(API_ENABLED, isEnabled),
    async signIn() {
      return { second_factor_required: (await read(SECOND_FACTOR_REQUIRED)) === true };
    },
    async setSignIn({ second_factor_required }) {
      if (second_factor_required !== undefined) await set(SECOND_FACTOR_REQUIRED, second_factor_required);
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
