import { z } from "zod";
import { ROLES, type Role } from "./permission.ts";

export const GROUP_ROLES_MAX = 100;

export const GroupRole = z.strictObject({
  group: z.string().trim().min(1, "This field is required.").max(255, "At most 255 characters."),
  team_id: z.int().min(0),
  role: z.enum(ROLES),
});
export type GroupRole = z.infer<typeof GroupRole>;

/** @returns The highest role in each team that groups of a person give them, by id of the team. */
export function rolesOfGroups(rules: readonly GroupRole[], groups: readonly string[]): ReadonlyMap<number, Role> {
  const found = new Map<number, Role>();
  for (const { group, team_id, role } of rules) {
    if (!groups.includes(group)) continue;
    const before = found.get(team_id);
    if (before === undefined || ROLES.indexOf(role) < ROLES.indexOf(before)) found.set(team_id, role);
  }
  return found;
}

export interface GroupMembership {
  readonly team_id: number;
  readonly role: Role;
}

export interface MembershipChanges {
  readonly join: readonly GroupMembership[];
  readonly change: readonly GroupMembership[];
  /** Ids of teams. */
  readonly leave: readonly number[];
}

/**
 * What has to change, so that a user has what their groups give them.
 * @param given Memberships that groups of the same provider gave before. Others are not touched.
 * @param others Ids of teams that the user joined otherwise.
 */
export function membershipChanges(
  wanted: ReadonlyMap<number, Role>,
  given: readonly GroupMembership[],
  others: readonly number[],
): MembershipChanges {
  const before = new Map(given.map(({ team_id, role }) => [team_id, role]));
  const all = [...wanted].map(([team_id, role]) => ({ team_id, role }));
  return {
    join: all.filter(({ team_id }) => !before.has(team_id) && !others.includes(team_id)),
    change: all.filter(({ team_id, role }) => before.has(team_id) && before.get(team_id) !== role),
    leave: [...before.keys()].filter((team_id) => !wanted.has(team_id)),
  };
}
