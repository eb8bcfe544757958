import { type DeploySubject, deployedKind } from "@berth/core/deploy";
import type { SystemStores } from "@berth/core/ports";
import { STOP_GRACE_SECONDS } from "./settings.ts";

/** Grace period of a resource's containers between SIGTERM and SIGKILL. */
export async function stopGraceSeconds(stores: SystemStores, resourceId: number): Promise<number> {
  return graceSecondsOf(await stores.resources.subject(resourceId));
}

export const graceSecondsOf = (subject: DeploySubject | undefined): number =>
  (subject && deployedKind(subject).stopGraceSeconds(subject)) ?? STOP_GRACE_SECONDS;
