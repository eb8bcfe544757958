import { DomainError } from "../errors.ts";
import type { Conflicts } from "./domain.ts";

const OVERRIDABLE = "Domain conflicts detected. Use force_domain_override=true to proceed.";
const NOT_OVERRIDABLE = "Domain conflicts detected. These domains are not your team's, so they cannot be taken over.";
const WARNING = "Using the same domain for multiple resources can cause routing conflicts and unpredictable behavior.";

/** The error for URLs that others use; `undefined` without conflicts. */
export function domainConflictError({ conflicts, isOverridable }: Conflicts, isForced: boolean) {
  if (conflicts.length === 0 || (isForced && isOverridable)) return undefined;
  return new DomainError("domain.conflict", isOverridable ? OVERRIDABLE : NOT_OVERRIDABLE, {
    details: { conflicts, warning: WARNING },
  });
}
