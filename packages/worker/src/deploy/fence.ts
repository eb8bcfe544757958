import { DomainError } from "@berth/core";
import type { Hold } from "./hold.ts";

/** Ends the run when a fenced write says that another worker has the deployment now. */
export function fenced(hold: Hold, isHeld: boolean): void {
  if (isHeld) return;
  hold.lose();
  throw new DomainError("deploy.interrupted", "Another worker has taken this deployment over.");
}
