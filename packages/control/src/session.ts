import { notFound, timestamp } from "@berth/core";
import {
  type AccountUpdate,
  type CreatedSignInLink,
  type CurrentSession,
  can,
  eventActor,
  type PasswordChange,
  ROOT_TEAM_ID,
  requireAbility,
  requireConfirmation,
  type Session,
  sessionView,
  userIdOf,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requireManaging } from "./member.ts";
import { ownSession } from "./own-session.ts";
import { currentSession } from "./session-answer.ts";
import { signInFailed } from "./sign-in.ts";
import { insertSignInLink } from "./sign-in-link.ts";

/** The caller's own sessions, password and links. */
export function sessions({
  scope,
  stores,
  system,
  passwords,
  tries,
  clock,
  ids,
  hashToken,
  instanceUrl,
}: UseCaseContext) {
  const own = () => ownSession(scope);

  const current = async () => {
    const { id, userId } = own();
    return await currentSession(system, id, userId, clock.now());
  };

  /** @throws DomainError `auth.sign_in_failed`, `rate.limited` */
  async function requirePassword(password: string) {
    const { id, userId } = own();
    const account = await system.accounts.find(userId);
    // Counted per session, since that identifies where the guesses come from.
    tries.enter(`user ${userId}`, `session ${id}`);
    if (!(await passwords.verify(password, account?.password_hash ?? null))) throw signInFailed();
    tries.succeed(`user ${userId}`, `session ${id}`);
  }

  return {
    current,

    /** Whether the caller's user has ever chosen a password. */
    async hasPassword(): Promise<boolean> {
      requireAbility(scope, "read");
      return ((await system.accounts.find(userIdOf(scope)))?.password_hash ?? null) !== null;
    },

    async list(): Promise<Session[]> {
      const { id, userId } = own();
      return (await system.accounts.sessions(userId)).map((session) => sessionView(session, id));
    },

    async signOut(): Promise<{ message: string }> {
      const { id, userId } = own();
      await system.accounts.deleteSession(userId, id);
      return { message: "Signed out." };
    },

    /** @throws DomainError `resource.not_found` */
    async revoke(id: number): Promise<{ message: string }> {
      const { userId } = own();
      if (!(await system.accounts.deleteSession(userId, id))) throw notFound("Session");
      return { message: "Session ended." };
    },

    async revokeOthers(): Promise<{ message: string }> {
      const { id, userId } = own();
      const count = await system.accounts.deleteSessions(userId, id);
      return { message: `Sessions ended: ${count}.` };
    },

    /** @throws DomainError `resource.not_found` for a team that the user is not in or has not joined */
    async switchTeam(teamId: number): Promise<CurrentSession> {
      const { id, userId } = own();
      if (!(await system.accounts.moveSession({ id, user_id: userId }, teamId))) throw notFound("Team");
      return await current();
    },

    async confirm(password: string): Promise<CurrentSession> {
      await requirePassword(password);
      await system.accounts.confirmSession(own().id, clock.now());
      return await current();
    },

    /** @throws DomainError `auth.confirmation_required` for another address, `resource.already_exists` */
    async update(change: AccountUpdate): Promise<CurrentSession> {
      const { userId } = own();
      if (change.email !== undefined) requireConfirmation(scope);
      await system.transaction(async (tx) => {
        await tx.accounts.update(userId, change);
        const payload = { user_id: userId, fields: Object.keys(change) };
        await tx
          .forTeam(scope.teamId, eventActor(scope.actor))
          .events.append({ type: "user.updated", resource_uuid: null, payload });
      });
      return await current();
    },

    /** The user's other sessions end, and links that would replace the password stop working. */
    async changePassword({ current_password, password }: PasswordChange): Promise<{ message: string }> {
      const { id, userId } = own();
      await requirePassword(current_password);
      const hash = await passwords.hash(password);
      await system.transaction(async ({ accounts }) => {
        await accounts.setPassword(userId, hash);
        await accounts.deleteSessions(userId, id);
        await accounts.deleteLinks(userId, undefined);
        await accounts.confirmSession(id, clock.now());
      });
      return { message: "Password changed. Other sessions were ended." };
    },

    /**
     * Creates a link that signs the user in once, to this team.
     * @param userId Default: the caller's own user.
     * @throws DomainError `auth.missing_role` for a user above the caller
     */
    async createLink(teamId = scope.teamId, userId = userIdOf(scope)): Promise<CreatedSignInLink> {
      requireAbility(scope, "root");
      if ((await stores.teams.find(teamId)) === undefined) throw notFound("Team");
      const member = await stores.members.find(teamId, userId);
      if (member === undefined) throw notFound("User");
      const isOwn = userId === userIdOf(scope);
      if (!isOwn) requireManaging(scope, teamId, member.role);
      const isOperator = scope.teamId === ROOT_TEAM_ID && can(scope, "root");
      // Otherwise an administrator of the root team could become its owner through another team.
      const inRootTeam = isOperator && !isOwn ? await stores.members.find(ROOT_TEAM_ID, userId) : undefined;
      if (inRootTeam !== undefined) requireManaging(scope, ROOT_TEAM_ID, inRootTeam.role);
      requireConfirmation(scope);
      const link = { user_id: userId, team_id: teamId, replaces_password: isOperator };
      const { code, url, expiresAt } = await stores.transaction((tx) =>
        insertSignInLink({ clock, ids, hashToken, instanceUrl }, tx, link, member.name),
      );
      return { code, url, expires_at: timestamp(expiresAt) };
    },
  };
}
