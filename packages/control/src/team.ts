import { notFound } from "@berth/core";
import type { Page, Paging } from "@berth/core/ports";
import {
  requireAbility,
  requireConfirmation,
  requireRootTeam,
  type Team,
  type TeamCreate,
  type TeamUpdate,
  teamView,
  userIdOf,
} from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requireManaging } from "./member.ts";
import { mapPage } from "./page.ts";

export function teams({ scope, stores }: UseCaseContext) {
  return {
    async list(paging: Paging): Promise<Page<Team>> {
      requireAbility(scope, "read");
      return mapPage(await stores.teams.list(paging), teamView);
    },

    async current(): Promise<Team> {
      requireAbility(scope, "read");
      const team = await stores.teams.current();
      if (team === undefined) throw notFound("Team");
      return teamView(team);
    },

    async get(id: number): Promise<Team> {
      requireAbility(scope, "read");
      const team = await stores.teams.find(id);
      if (team === undefined) throw notFound("Team");
      return teamView(team);
    },

    /**
     * The caller becomes its owner.
     * @throws DomainError `auth.root_team_only`
     */
    async create({ name, description = null }: TeamCreate): Promise<Team> {
      requireRootTeam(scope, "create teams");
      return stores.transaction(async (tx) => {
        const team = await tx.teams.insert({ name, description, owner_id: userIdOf(scope) });
        await tx.events.append({ type: "team.created", resource_uuid: null, payload: { id: team.id, name } });
        return teamView(team);
      });
    },

    /**
     * Owners alone: they decide for all members. Sessions of users without a second factor may then only set one up.
     * @throws DomainError `auth.missing_role`, `auth.confirmation_required`
     */
    async update(id: number, change: TeamUpdate): Promise<Team> {
      requireAbility(scope, "root");
      if ((await stores.teams.find(id)) === undefined) throw notFound("Team");
      requireManaging(scope, id, "owner");
      if (change.second_factor_required !== undefined) requireConfirmation(scope);
      return stores.transaction(async (tx) => {
        const team = await tx.teams.update(id, change);
        if (team === undefined) throw notFound("Team");
        const payload = { id, name: team.name, fields: Object.keys(change) };
        await tx.events.append({ type: "team.updated", resource_uuid: null, payload });
        return teamView(team);
      });
    },
  };
}
