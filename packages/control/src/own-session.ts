import { DomainError } from "@berth/core";
import type { SystemStores } from "@berth/core/ports";
import { requireAbility, requirePasskeyUsed, type Scope } from "@berth/core/team";

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
 * For changes of what proves a user beside the password.
 * @throws DomainError `auth.second_factor_missing` for a user with a passkey whose session has only the password
 */
export async function requireOwnPasskeyUsed(
  { passkeys, accounts }: Pick<SystemStores, "passkeys" | "accounts">,
  { id, userId }: { readonly id: number; readonly userId: number },
): Promise<void> {
  const { length } = await passkeys.list(userId);
  if (length > 0) requirePasskeyUsed(await accounts.lacksSecondFactor(id));
}
