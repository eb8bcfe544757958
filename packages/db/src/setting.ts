import type { InstanceSettingStore } from "@berth/core/ports";
import type { StoreContext } from "./context.ts";

/** Setting that turns the API off for everyone. On unless set (D12). */
export const API_ENABLED = "is_api_enabled";

/** Key of the setting that makes sessions of all teams need a second factor. */
export const SECOND_FACTOR_REQUIRED = "second_factor_required";

const INSTANCE_ID = "instance_id";
const REPORTED_VERSION = "reported_version";

export function settingStore({ db }: StoreContext): InstanceSettingStore {
  const read = async (key: string): Promise<unknown> =>
    (await db.selectFrom("setting").select("value").where("key", "=", key).executeTakeFirst())?.value;
  const write = async (key: string, setting: boolean | string | null): Promise<void> => {
    const value = JSON.stringify(setting);
    await db
      .insertInto("setting")
      .values({ key, value })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value }))
      .execute();
  };
  return {
    isApiEnabled: async () => (await read(API_ENABLED)) !== false,
    setApiEnabled: (isEnabled) => write(API_ENABLED, isEnabled),
    async signIn() {
      return { second_factor_required: (await read(SECOND_FACTOR_REQUIRED)) === true };
    },
    async setSignIn({ second_factor_required }) {
      if (second_factor_required !== undefined) await write(SECOND_FACTOR_REQUIRED, second_factor_required);
    },
    async reportedVersion() {
      const version = await read(REPORTED_VERSION);
      return typeof version === "string" ? version : null;
    },
    setReportedVersion: (version) => write(REPORTED_VERSION, version),
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
