import { DomainError } from "@berth/core";
import { requireAbility, type Scope } from "@berth/core/team";

/**
 * The session of a person who asks from a browser.
 * @throws DomainError `auth.session_required`
 */
export function ownSession(scope: Scope): { readonly id: number; readonly userId: number } {
  requireAbility(scope, "read");
  const { actor } = scope;
  if (actor.type === "token" && actor.session !== undefined) return { id: actor.id, userId: actor.userId };
  throw new DomainError("auth.session_required", "Sign in with a browser for this: a token has no session.");
}
