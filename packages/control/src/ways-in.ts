import { DomainError } from "@berth/core";
import type { SystemStores } from "@berth/core/ports";

/** Number of a user's passkeys and identities, by which they sign in without a password. */
export async function countWaysIn(
  { passkeys, identities }: Pick<SystemStores, "passkeys" | "identities">,
  userId: number,
): Promise<number> {
  return (await passkeys.list(userId)).length + (await identities.identities(userId)).length;
}

/** Removes a user's passkeys and identities: somebody else may have added them before a link set the password. */
export async function endWaysIn({ passkeys, identities }: SystemStores, userId: number): Promise<void> {
  await passkeys.deleteAll(userId);
  await identities.deleteIdentities(userId);
}

/**
 * Removes a way to sign in, unless the user has no other.
 * @throws DomainError `resource.state`, and what `remove` throws
 */
export async function removeSignIn<T>(tx: SystemStores, userId: number, remove: () => Promise<T>): Promise<T> {
  const account = await tx.accounts.lock(userId);
  const removed = await remove();
  if (account?.password_hash !== null || (await countWaysIn(tx, userId)) > 0) return removed;
  throw new DomainError("resource.state", "It is your only way to sign in. Set a password with a sign-in link first.");
}
