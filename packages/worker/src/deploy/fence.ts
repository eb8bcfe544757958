import { DomainError } from "@berth/core";
import type { LeaseKeeper } from "../lease-keeper.ts";

/** Ends the run when a fenced write says that another worker has the deployment now. */
export function assertLease(leaseKeeper: LeaseKeeper, isHeld: boolean): void {
  if (isHeld) return;
  leaseKeeper.lose();
  throw new DomainError("deploy.interrupted", "Another worker has taken this deployment over.");
}
