import { Message } from "@berth/core";
import { CreatedSignInLink, MemberAdd, MemberUpdate, User } from "@berth/core/team";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import type { Extra } from "./operation-options.ts";

const id = z.int().min(0).describe("The team's number.");
const user_id = z.int().min(0).describe("The user's number.");

const OWNER: Extra = { needs: "owner", for: "an owner" };
const NEW_OWNER: Extra = { needs: "root owner", for: "a new owner" };
const ROLE: Extra = { needs: "root", for: "a role above `member`" };
const TOKENS: Extra = { needs: "same", for: "a token of the user" };

export const members = {
  listCurrent: operation({
    method: "GET",
    path: "/teams/current/members",
    operationId: "get-current-team-members",
    tag: "Teams",
    summary: "List the members of the token's team",
    ability: "read",
    errors: ["resource.not_found"],
  })
    .input(z.strictObject(paging))
    .output(z.array(User))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.members.list(undefined, input), input)]),

  list: operation({
    method: "GET",
    path: "/teams/{id}/members",
    operationId: "get-members-by-team-id",
    tag: "Teams",
    summary: "List the members of a team",
    ability: "read",
    rootTeamReaches: "read",
  })
    .input(z.strictObject({ id, ...paging }))
    .output(z.array(User))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.members.list(input.id, input), input)]),

  add: operation({
    method: "POST",
    path: "/teams/{id}/members",
    operationId: "create-member-by-team-id",
    tag: "Teams",
    summary: "Add a user to a team",
    description:
      "For its owners, for its administrators (who cannot add owners), and for the operators of the instance.",
    ability: "write",
    rootTeamReaches: "root",
    extras: [ROLE, NEW_OWNER],
    status: 201,
    errors: ["auth.confirmation_required", "resource.already_exists"],
  })
    .input(MemberAdd.extend({ id }))
    .output(User)
    .mutation(({ ctx, input: { id: team, ...member } }) => ctx.control.members.add(team, member)),

  update: operation({
    method: "PATCH",
    path: "/teams/{id}/members/{user_id}",
    operationId: "update-member-by-team-id",
    tag: "Teams",
    summary: "Change a user's role in a team",
    description: "Applies to their tokens at once. A team always keeps an owner.",
    ability: "write",
    rootTeamReaches: "root",
    extras: [OWNER, ROLE, TOKENS],
    errors: ["auth.confirmation_required", "resource.state"],
  })
    .input(MemberUpdate.extend({ id, user_id }))
    .output(User)
    .mutation(({ ctx, input: { id: team, user_id: user, ...change } }) =>
      ctx.control.members.update(team, user, change),
    ),

  createSignInLink: operation({
    method: "POST",
    path: "/teams/{id}/members/{user_id}/sign-in-link",
    operationId: "create-sign-in-link",
    tag: "Sign-in",
    summary: "Make a sign-in link for a member",
    description:
      "It signs the user in once, within 24 hours, and lets their sessions into the team. Who has no password chooses " +
      "one. Made by the root team it also replaces a lost password.",
    ability: "root",
    rootTeamReaches: "root",
    extras: [OWNER],
    status: 201,
    errors: ["auth.confirmation_required", "resource.not_found"],
  })
    .input(z.strictObject({ id, user_id }))
    .output(CreatedSignInLink)
    .mutation(({ ctx, input }) => ctx.control.sessions.createLink(input.id, input.user_id)),

  resetSecondFactor: operation({
    method: "DELETE",
    path: "/teams/{id}/members/{user_id}/second-factor",
    operationId: "reset-second-factor",
    tag: "Sign-in",
    summary: "Take a member's second factor away",
    description:
      "For a user who lost their authenticator app and recovery codes: they sign in with the password alone. For the " +
      "team's owners; of a user who is in other teams, too, for those who run the instance.",
    ability: "root",
    rootTeamReaches: "root",
    isOwnerOnly: true,
    errors: ["auth.confirmation_required", "resource.state"],
  })
    .input(z.strictObject({ id, user_id }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.secondFactors.reset(input.id, input.user_id)),

  remove: operation({
    method: "DELETE",
    path: "/teams/{id}/members/{user_id}",
    operationId: "delete-member-by-team-id",
    tag: "Teams",
    summary: "Remove a user from a team",
    description: "Their tokens of the team stop working at once. A team always keeps an owner.",
    ability: "write",
    rootTeamReaches: "root",
    extras: [OWNER, TOKENS],
    errors: ["auth.confirmation_required", "resource.state"],
  })
    .input(z.strictObject({ id, user_id }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.members.remove(input.id, input.user_id)),
};
