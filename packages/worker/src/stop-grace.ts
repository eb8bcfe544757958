import { deployedKind } from "@berth/core/deploy";
import type { SystemStores } from "@berth/core/ports";
import { STOP_GRACE_SECONDS } from "./settings.ts";

/** How long what runs of a resource may take to end, before it is killed. */
export async function stopGraceSeconds(stores: SystemStores, resourceId: number): Promise<number> {
  const subject = await stores.resources.subject(resourceId);
  return (subject && deployedKind(subject).stopGraceSeconds(subject)) ?? STOP_GRACE_SECONDS;
}
