import { DomainError, invalid, notFound } from "@berth/core";
import type { Page, Paging, Stores } from "@berth/core/ports";
import {
  type Ability,
  type CreatedToken,
  covers,
  exceedingAbilities,
  missingRole,
  ROOT_TEAM_ID,
  requireAbility,
  requireConfirmation,
  type Token,
  type TokenCreate,
  tokenSecret,
  tokenText,
  tokenView,
  userIdOf,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requireManaging } from "./member.ts";
import { mapPage } from "./page.ts";

export function tokens({ scope, stores, clock, ids, hashToken }: UseCaseContext) {
  async function requireTeam(tx: Stores, teamId: number) {
    if (teamId === scope.teamId) return;
    if (scope.teamId !== ROOT_TEAM_ID) {
      throw new DomainError("auth.root_team_only", "Only the root team may create tokens for other teams.");
    }
    // Otherwise a token with only `write` could act in every team.
    requireAbility(scope, "root");
    if ((await tx.teams.find(teamId)) === undefined) throw notFound("Team");
  }

  /** A token cannot create one that outlives it. */
  function expiry(text: string | null | undefined): Date | null {
    const { actor } = scope;
    // Sessions end soon, so tokens created in a session may last longer.
    const latest = actor.type === "token" && actor.session === undefined ? actor.expiresAt : null;
    if (text === null || text === undefined) return latest;
    const at = new Date(text);
    if (at <= clock.now()) throw invalid({ expires_at: ["Must be in the future."] });
    if (latest !== null && at > latest) {
      throw invalid({ expires_at: [`Must not be after your own token expires, at ${latest.toISOString()}.`] });
    }
    return at;
  }

  /** A member of the team whose role allows the token's abilities. */
  async function userOf(tx: Stores, teamId: number, sent: TokenCreate, abilities: readonly Ability[]) {
    const { user_id = userIdOf(scope) } = sent;
    const member = await tx.members.find(teamId, user_id);
    if (member === undefined && sent.user_id === undefined) {
      throw invalid({ user_id: ["You are not a member of that team. Name one of its members."] });
    }
    if (member === undefined) throw notFound("User");
    // Otherwise an administrator could act as an owner.
    if (user_id !== userIdOf(scope)) requireManaging(scope, teamId, member.role);
    if (exceedingAbilities(member.role, abilities).length > 0) throw missingRole();
    return user_id;
  }

  return {
    async list(paging: Paging): Promise<Page<Token>> {
      requireAbility(scope, "read");
      return mapPage(await stores.tokens.list(paging), tokenView);
    },

    /**
     * The answer is the only place that ever contains the token's text.
     * @throws DomainError `auth.confirmation_required`, `auth.missing_ability` for more abilities than the caller
     * has, `auth.missing_role` for more than its user's role allows, `request.invalid` for a later expiry than the
     * caller's own
     */
    async create(sent: TokenCreate): Promise<CreatedToken> {
      requireAbility(scope, "write");
      const { name, abilities = ["read"], team_id = scope.teamId } = sent;
      for (const ability of abilities) requireAbility(scope, ability);
      requireConfirmation(scope);
      const expires_at = expiry(sent.expires_at);
      const secret = tokenSecret((length) => ids.secret(length));
      const wanted = { team_id, name, abilities: [...new Set(abilities)], hash: hashToken(secret), expires_at };
      const token = await stores.transaction(async (tx) => {
        await requireTeam(tx, team_id);
        const user_id = await userOf(tx, team_id, sent, abilities);
        const made = await tx.tokens.insert({ ...wanted, user_id });
        await tx.events.append({ type: "token.created", resource_uuid: null, payload: { id: made.id, name } });
        return made;
      });
      return { ...tokenView(token), token: tokenText(token.id, secret) };
    },

    /**
     * @throws DomainError `auth.missing_ability` for a token with more abilities than the caller,
     *   `auth.confirmation_required`
     */
    async revoke(id: number): Promise<{ message: string }> {
      requireAbility(scope, "write");
      requireConfirmation(scope);
      await stores.transaction(async (tx) => {
        const { items } = await tx.tokens.list();
        const token = items.find((item) => item.id === id);
        if (token === undefined) throw notFound("Token");
        if (!covers(scope.abilities, token.abilities)) {
          throw new DomainError(
            "auth.missing_ability",
            "This token has more abilities than yours, so yours cannot revoke it.",
          );
        }
        await tx.tokens.delete(id);
        await tx.events.append({ type: "token.revoked", resource_uuid: null, payload: { id, name: token.name } });
      });
      return { message: "Token revoked." };
    },
  };
}
