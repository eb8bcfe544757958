import { isDomainError } from "@berth/core";
import type { AccountRecord, IdentityProviderRecord, Stores, SystemStores } from "@berth/core/ports";
import { membershipChanges, requireDispensable, rolesOfGroups } from "@berth/core/team";
import { emitMemberEvent } from "./member.ts";

/**
 * Gives a user who signed in what their groups at the provider give, and takes back what they gave before and give no
 * longer. The last owner of a team stays one. A user without any team afterwards stays: a group may give them one again.
 */
export async function applyGroups(
  tx: SystemStores,
  provider: IdentityProviderRecord,
  { id: userId }: Pick<AccountRecord, "id">,
  groups: readonly string[],
): Promise<void> {
  const all = await tx.accounts.memberships(userId);
  const { join, change, leave } = membershipChanges(
    rolesOfGroups(provider.group_roles, groups),
    all.filter(({ provider_id }) => provider_id === provider.id),
    all.filter(({ provider_id }) => provider_id !== provider.id).map(({ team_id }) => team_id),
  );
  const storesOf = (teamId: number) =>
    tx.forTeam(teamId, { type: "system", name: `Groups of ${provider.name}`, user_id: null });
  for (const membership of join) {
    if (!(await tx.accounts.join(userId, membership, provider.id))) continue;
    const stores = storesOf(membership.team_id);
    const member = await stores.members.find(membership.team_id, userId);
    if (member !== undefined) await emitMemberEvent(stores, "added", membership.team_id, member);
  }
  for (const { team_id, role } of change) {
    const stores = storesOf(team_id);
    if (role !== "owner" && (await isLastOwner(stores, team_id, userId))) continue;
    const member = await stores.members.setRole(team_id, userId, role, provider.id);
    if (member !== undefined) await emitMemberEvent(stores, "role_changed", team_id, member);
  }
  for (const team_id of leave) {
    const stores = storesOf(team_id);
    if (await isLastOwner(stores, team_id, userId)) continue;
    const member = await stores.members.find(team_id, userId);
    await stores.members.delete(team_id, userId, { keepsUser: true });
    if (member !== undefined) await emitMemberEvent(stores, "removed", team_id, member);
  }
}

async function isLastOwner({ members }: Stores, teamId: number, userId: number): Promise<boolean> {
  const owners = await members.lockOwners(teamId);
  try {
    requireDispensable(teamId, userId, owners);
    return false;
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return true;
  }
}
