import { Message } from "@berth/core";
import { CreatedToken, Token, TokenCreate } from "@berth/core/team";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

export const tokens = {
  list: operation({
    method: "GET",
    path: "/tokens",
    operationId: "list-tokens",
    tag: "Tokens",
    summary: "List the team's tokens",
    description: "Without their texts, which are never shown again.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Token))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.tokens.list(input), input)]),

  create: operation({
    method: "POST",
    path: "/tokens",
    operationId: "create-token",
    example: { name: "ci", abilities: ["read", "deploy"] },
    tag: "Tokens",
    summary: "Create a token",
    description:
      "Only this answer shows its text. Nobody can grant more abilities than they have, nor more than the user's role in the team allows.",
    ability: "write",
    extras: [
      { needs: "same", for: "the token that is made" },
      { needs: "operator", for: "another team's `team_id`" },
    ],
    status: 201,
    errors: ["resource.not_found"],
  })
    .input(TokenCreate)
    .output(CreatedToken)
    .mutation(({ ctx, input }) => ctx.control.tokens.create(input)),

  revoke: operation({
    method: "DELETE",
    path: "/tokens/{id}",
    operationId: "revoke-token-by-id",
    tag: "Tokens",
    summary: "Revoke a token",
    description: "It stops working at once. A token with more abilities than the caller's cannot be revoked.",
    ability: "write",
    extras: [{ needs: "same", for: "the token that is revoked" }],
    errors: ["auth.confirmation_required"],
  })
    .input(z.strictObject({ id: z.int().min(0).describe("The token's number: the part of its text before `|`.") }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.tokens.revoke(input.id)),
};
