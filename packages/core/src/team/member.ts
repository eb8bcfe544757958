import { z } from "zod";
import { DomainError } from "../errors.ts";
import { ResourceName } from "../name.ts";
import type { MemberRecord } from "../ports/member.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { type Ability, ROLES, ROOT_TEAM_ID, ROOT_USER_ID, type Role, roleAllows } from "./permission.ts";

export const Email = z.preprocess(
  (value) => (typeof value === "string" ? value.trim().toLowerCase() : value),
  z.email("Must be an email address.").max(255, "At most 255 characters."),
);

const RoleName = z.enum(ROLES).describe("What they may do: an owner everything, a member read.");

export const MemberAdd = z.strictObject({
  email: Email.describe("Names the user, on the whole instance."),
  name: ResourceName.optional().describe("Of a user who is new. Default: what stands before the @."),
  role: RoleName.optional().meta({ default: "member" }),
});
export type MemberAdd = z.infer<typeof MemberAdd>;

export const MemberUpdate = z.strictObject({ role: RoleName });
export type MemberUpdate = z.infer<typeof MemberUpdate>;

export const User = z
  .object({
    id: z.int(),
    name: z.string(),
    email: z.string(),
    role: z.enum(ROLES).describe("In this team."),
    email_verified_at: Timestamp.nullable().describe("Always null: addresses are not verified."),
    two_factor_confirmed_at: z
      .string()
      .nullable()
      .describe("Always null: nobody sees whether another user has a second factor."),
    force_password_reset: z.boolean().describe("Always false."),
    marketing_emails: z.boolean().describe("Always false: there are none."),
    pending_email: z.string().nullable().describe("Always null."),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "User", description: "A member of a team, who acts through tokens and sessions." });
export type User = z.infer<typeof User>;

export const userView = (member: MemberRecord): User => ({
  id: member.id,
  name: member.name,
  email: member.email,
  role: member.role,
  email_verified_at: null,
  two_factor_confirmed_at: null,
  force_password_reset: false,
  marketing_emails: false,
  pending_email: null,
  created_at: timestamp(member.created_at),
  updated_at: timestamp(member.updated_at),
});

/** The default name of a user. */
export const nameFromEmail = (email: string): string => email.split("@", 1)[0] ?? email;

/**
 * Checks that a member can leave the team or lose their role: a team needs an owner, and the instance's own user must
 * stay in the root team.
 *
 * @param owners User ids of the team's owners.
 * @throws DomainError `resource.state`
 */
export function requireDispensable(teamId: number, userId: number, owners: readonly number[]): void {
  if (teamId === ROOT_TEAM_ID && userId === ROOT_USER_ID) {
    throw new DomainError("resource.state", "The instance acts as this user, so they stay an owner of its team.");
  }
  if (owners.length === 1 && owners[0] === userId) {
    throw new DomainError("resource.state", "This is the team's last owner. Make another member an owner first.");
  }
}

/** The abilities that a token of this role may not have. */
export const exceedingAbilities = (role: Role, abilities: readonly Ability[]): readonly Ability[] =>
  abilities.filter((ability) => !roleAllows(role, ability));
