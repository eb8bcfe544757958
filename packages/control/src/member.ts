import { DomainError, notFound } from "@berth/core";
import type { MemberRecord, Page, Paging, Stores, TokenRecord } from "@berth/core/ports";
import {
  can,
  covers,
  effectiveAbilities,
  invitationMail,
  type MemberAdd,
  type MemberUpdate,
  mayManage,
  missingRole,
  nameFromEmail,
  ROOT_TEAM_ID,
  type Role,
  requireAbility,
  requireConfirmation,
  requireDispensable,
  roleOf,
  type Scope,
  type User,
  userView,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";
import { insertSignInLink } from "./sign-in-link.ts";

export function members(context: UseCaseContext) {
  const { scope, stores, mailer } = context;
  /** Who is invited can sign in, so it needs what a sign-in link needs. */
  const invites = mailer !== undefined && can(scope, "root");
  return {
    /** Members of the given team, or of the caller's. */
    async list(teamId: number | undefined, paging: Paging): Promise<Page<User>> {
      requireAbility(scope, "read");
      const id = await findTeam(stores, teamId ?? scope.teamId);
      return mapPage(await stores.members.list(id, paging), userView);
    },

    /**
     * With a mail server, callers with the ability `root` also mail a sign-in link to the member.
     * @throws DomainError `auth.missing_role` for a role above the caller's, `auth.missing_ability` for one above
     * member by a token without `root`, `auth.confirmation_required` for one above member and where a link is mailed,
     * `resource.already_exists`
     */
    async add(teamId: number, { email, name = nameFromEmail(email), role = "member" }: MemberAdd): Promise<User> {
      requireAbility(scope, "write");
      const added = await stores.transaction(async (tx) => {
        await findTeam(tx, teamId);
        requireManaging(scope, teamId, role);
        if (role !== "member" || invites) requireConfirmation(scope);
        const member = await tx.members.insert(teamId, { email, name, role });
        if (role !== "member") requireCovered(scope, [SESSION], [role]);
        await emitMemberEvent(tx, "added", teamId, member);
        const link = { user_id: member.id, team_id: teamId, replaces_password: false };
        const made = invites ? await insertSignInLink(context, tx, link, member.name) : undefined;
        return { member, url: made?.url ?? null, teamName: (await tx.teams.find(teamId))?.name ?? "" };
      });
      const { member, url, teamName } = added;
      if (url !== null) mailer?.send(async () => invitationMail({ to: member.email, url, teamName }));
      return userView(member);
    },

    /**
     * @throws DomainError `auth.missing_role`, `auth.confirmation_required`, `auth.missing_ability` where one of the user's tokens may do more, before
     * or after, than the caller's, `resource.state` for the last owner
     */
    async update(teamId: number, userId: number, { role }: MemberUpdate): Promise<User> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const owners = await tx.members.lockOwners(await findTeam(tx, teamId));
        const before = await findMember(tx, teamId, userId);
        requireManaging(scope, teamId, before.role);
        requireManaging(scope, teamId, role);
        requireConfirmation(scope);
        if (role !== "owner") requireDispensable(teamId, userId, owners);
        requireCovered(scope, await tx.members.tokens(teamId, userId), [before.role, role]);
        if (isPromotion(before.role, role)) requireCovered(scope, [SESSION], [role]);
        const member = await tx.members.setRole(teamId, userId, role);
        if (member === undefined) throw notFound("User");
        await emitMemberEvent(tx, "role_changed", teamId, member);
        return userView(member);
      });
    },

    /**
     * Also revokes their tokens in the team.
     * @throws DomainError `auth.missing_role`, `auth.confirmation_required`, `auth.missing_ability` if one of the tokens has more abilities than
     * the caller, `resource.state` for the last owner
     */
    async remove(teamId: number, userId: number): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const owners = await tx.members.lockOwners(await findTeam(tx, teamId));
        const member = await findMember(tx, teamId, userId);
        requireManaging(scope, teamId, member.role);
        requireDispensable(teamId, userId, owners);
        requireConfirmation(scope);
        const tokens = await tx.members.tokens(teamId, userId);
        requireCovered(scope, tokens, [member.role]);
        await tx.members.delete(teamId, userId);
        await emitMemberEvent(tx, "removed", teamId, member);
        for (const { id, name } of tokens) {
          await tx.events.append({ type: "token.revoked", resource_uuid: null, payload: { id, name } });
        }
      });
      return { message: "Member removed." };
    },
  };
}

/** @throws DomainError `resource.not_found` */
async function findTeam(stores: Stores, teamId: number): Promise<number> {
  if ((await stores.teams.find(teamId)) === undefined) throw notFound("Team");
  return teamId;
}

/** @throws DomainError `resource.not_found` */
async function findMember(stores: Stores, teamId: number, userId: number): Promise<MemberRecord> {
  const member = await stores.members.find(teamId, userId);
  if (member === undefined) throw notFound("User");
  return member;
}

/** The caller's role in a team. In other teams it is `member`, except that the root team has the rights of an owner. */
function roleIn(scope: Scope, teamId: number): Role {
  if (teamId === scope.teamId) return roleOf(scope);
  return scope.teamId === ROOT_TEAM_ID && can(scope, "root") ? "owner" : "member";
}

/** @throws DomainError `auth.missing_role` */
export function requireManaging(scope: Scope, teamId: number, role: Role): void {
  if (!mayManage(roleIn(scope, teamId), role)) throw missingRole();
}

/**
 * A change of a user's role changes the abilities of their tokens, so the caller needs these abilities before and
 * after: otherwise a token with `write` could give `root` to another user's token, or take it away.
 * @throws DomainError `auth.missing_ability`
 */
function requireCovered(scope: Scope, tokens: readonly MemberToken[], roles: readonly Role[]): void {
  const abilities = tokens.flatMap((token) => roles.flatMap((role) => effectiveAbilities(role, token.abilities)));
  if (covers(scope.abilities, abilities)) return;
  const missing = [...new Set(abilities)].filter((ability) => !scope.abilities.includes(ability));
  throw new DomainError(
    "auth.missing_ability",
    `This user may do more than your token (${missing.join(", ")}). Use a token with these abilities.`,
  );
}

/** The abilities that a user has, within their role. */
type MemberToken = Pick<TokenRecord, "abilities">;

const isPromotion = (before: Role, after: Role): boolean =>
  effectiveAbilities(after, ["root"]).length > effectiveAbilities(before, ["root"]).length;

/**
 * Who signs in has all abilities of their role: more than a token with `write` may grant. A member may sign in without
 * a link, at a provider that knows their address.
 */
const SESSION: MemberToken = { abilities: ["root"] };

/** Must run in the transaction of the change. */
export const emitMemberEvent = (
  tx: Pick<Stores, "events">,
  change: "added" | "role_changed" | "removed",
  teamId: number,
  { id, name, role }: Pick<MemberRecord, "id" | "name" | "role">,
) =>
  tx.events.append({
    type: `member.${change}`,
    resource_uuid: null,
    payload: { team_id: teamId, user_id: id, name, role },
  });
