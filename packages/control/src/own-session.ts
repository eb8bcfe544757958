import { DomainError } from "@berth/core";
import type { SystemStores } from "@berth/core/ports";
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

/**
 * Removes a way to sign in, unless the user has no other.
 * @throws DomainError `resource.state`, and what `remove` throws
 */
export async function removeSignIn<T>(tx: SystemStores, userId: number, remove: () => Promise<T>): Promise<T> {
  const account = await tx.accounts.lock(userId);
  const removed = await remove();
  const left = [...(await tx.passkeys.list(userId)), ...(await tx.identities.identities(userId))];
  if (account?.password_hash !== null || left.length > 0) return removed;
  throw new DomainError("resource.state", "It is your only way to sign in. Set a password with a sign-in link first.");
}
