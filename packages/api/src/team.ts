import { Team, TeamCreate, TeamUpdate } from "@berth/core/team";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { members } from "./member.ts";
import { operation } from "./operation.ts";

export const teams = {
  members,

  list: operation({
    method: "GET",
    path: "/teams",
    operationId: "list-teams",
    tag: "Teams",
    summary: "List teams",
    description: "The token's team; for tokens of the root team, all teams of the instance.",
    ability: "read",
    rootTeamReaches: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Team))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.teams.list(input), input)]),

  current: operation({
    method: "GET",
    path: "/teams/current",
    operationId: "get-current-team",
    tag: "Teams",
    summary: "Get the token's team",
    ability: "read",
    errors: ["resource.not_found"],
  })
    .output(Team)
    .query(({ ctx }) => ctx.control.teams.current()),

  get: operation({
    method: "GET",
    path: "/teams/{id}",
    operationId: "get-team-by-id",
    tag: "Teams",
    summary: "Get a team",
    ability: "read",
    rootTeamReaches: "read",
  })
    .input(z.strictObject({ id: z.int().min(0).describe("The team's number.") }))
    .output(Team)
    .query(({ ctx, input }) => ctx.control.teams.get(input.id)),

  update: operation({
    method: "PATCH",
    path: "/teams/{id}",
    operationId: "update-team-by-id",
    tag: "Teams",
    summary: "Change a team",
    description:
      "For its owners. Where a second factor is required, sessions of users without one may only set one up.",
    ability: "root",
    isOwnerOnly: true,
    rootTeamReaches: "root",
    errors: ["auth.confirmation_required"],
  })
    .input(TeamUpdate.extend({ id: z.int().min(0).describe("The team's number.") }))
    .output(Team)
    .mutation(({ ctx, input: { id, ...change } }) => ctx.control.teams.update(id, change)),

  create: operation({
    method: "POST",
    path: "/teams",
    operationId: "create-team",
    tag: "Teams",
    summary: "Create a team",
    description: "The caller owns it.",
    ability: "root",
    rootTeamOnly: "create teams",
    status: 201,
  })
    .input(TeamCreate)
    .output(Team)
    .mutation(({ ctx, input }) => ctx.control.teams.create(input)),
};
