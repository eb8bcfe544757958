import type { SystemStores } from "@berth/core";
import { STOP_GRACE_SECONDS } from "./settings.ts";

/** How long what runs of a resource may take to end, before it is killed. */
export async function stopGraceSeconds(stores: SystemStores, resourceId: number): Promise<number> {
  const found = await stores.resources.application(resourceId);
  return found?.application.settings.stop_grace_period ?? STOP_GRACE_SECONDS;
}
