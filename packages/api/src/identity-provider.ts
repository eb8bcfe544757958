import { Message } from "@berth/core";
import { IdentityProvider, IdentityProviderCreate, IdentityProviderUpdate } from "@berth/core/team";
import { z } from "zod";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The provider's identifier.");
const OF_INSTANCE = { tag: "Sign-in", ability: "root", rootTeamOnly: "manage identity providers" } as const;

export const identityProviders = {
  list: operation({
    ...OF_INSTANCE,
    method: "GET",
    path: "/identity-providers",
    operationId: "list-identity-providers",
    summary: "List identity providers",
  })
    .output(z.array(IdentityProvider))
    .query(({ ctx }) => ctx.control.identityProviders.list()),

  create: operation({
    ...OF_INSTANCE,
    method: "POST",
    path: "/identity-providers",
    operationId: "create-identity-provider",
    summary: "Add an identity provider",
    description:
      "Any that speaks OpenID Connect, Google, or GitHub. Register Berth there first, with `BERTH_PUBLIC_URL` and the " +
      "path `/sign-in/callback` as the address to return to.",
    status: 201,
    errors: ["auth.confirmation_required"],
  })
    .input(IdentityProviderCreate)
    .output(IdentityProvider)
    .mutation(({ ctx, input }) => ctx.control.identityProviders.create(input)),

  update: operation({
    ...OF_INSTANCE,
    method: "PATCH",
    path: "/identity-providers/{uuid}",
    operationId: "update-identity-provider",
    summary: "Change a provider",
    errors: ["auth.confirmation_required"],
  })
    .input(IdentityProviderUpdate.extend({ uuid }))
    .output(IdentityProvider)
    .mutation(({ ctx, input: { uuid: provider, ...change } }) =>
      ctx.control.identityProviders.update(provider, change),
    ),

  delete: operation({
    ...OF_INSTANCE,
    method: "DELETE",
    path: "/identity-providers/{uuid}",
    operationId: "delete-identity-provider",
    summary: "Remove a provider",
    description: "Users who have no other way to sign in need a sign-in link afterwards.",
    errors: ["auth.confirmation_required"],
  })
    .input(z.strictObject({ uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.identityProviders.delete(input.uuid)),
};
