import { Message } from "@berth/core";
import { Identity, ProviderBegun, ProviderChoice, ProviderReturn, ProviderSignIn, SignedIn } from "@berth/core/team";
import { z } from "zod";
import { opened } from "./opened.ts";
import { operation } from "./operation.ts";

const Chosen = z.strictObject({ provider: z.string().max(255).describe("The provider's identifier.") });
const PROVIDER_ERRORS = ["auth.provider_failed", "auth.provider_expired", "resource.state"] as const;

/** Signs a user in with an identity provider: `begin` redirects to it, `finish` takes its answer. */
export const providers = {
  list: operation({
    method: "GET",
    path: "/auth/providers",
    operationId: "list-sign-in-providers",
    tag: "Sign-in",
    summary: "List identity providers for sign-in",
    description: "For the buttons of the sign-in page.",
    ability: null,
  })
    .output(z.array(ProviderChoice))
    .query(({ ctx }) => ctx.signIns.providers()),

  begin: operation({
    method: "POST",
    path: "/auth/providers/begin",
    operationId: "begin-provider-sign-in",
    tag: "Sign-in",
    summary: "Start a sign-in with an identity provider",
    description:
      "Send the browser to `url`. The provider redirects it to `/sign-in/callback`; the attempt expires after ten minutes.",
    ability: null,
    status: 201,
    errors: [...PROVIDER_ERRORS, "resource.not_found"],
  })
    .input(Chosen)
    .output(ProviderBegun)
    .mutation(({ ctx, input }) => ctx.signIns.beginAtProvider(input.provider)),

  finish: operation({
    method: "POST",
    path: "/auth/providers/finish",
    operationId: "finish-provider-sign-in",
    tag: "Sign-in",
    summary: "Finish a sign-in with an identity provider",
    description: "Works once. Users with a second factor also send its code.",
    ability: null,
    status: 201,
    errors: [
      ...PROVIDER_ERRORS,
      ...(["auth.sign_up_refused", "auth.second_factor_required", "auth.second_factor_failed"] as const),
      ...(["auth.foreign_page", "rate.limited"] as const),
    ],
  })
    .input(ProviderSignIn)
    .output(SignedIn)
    .mutation(({ ctx, input }) => opened(ctx, (visitor) => ctx.signIns.finishAtProvider(input, visitor))),
};

/** Identities of the signed-in user at identity providers. */
export const identities = {
  list: operation({
    method: "GET",
    path: "/auth/identities",
    operationId: "list-own-identities",
    tag: "Sign-in",
    summary: "List your connected identities",
    ability: "read",
    errors: ["auth.session_required"],
  })
    .output(z.array(Identity))
    .query(({ ctx }) => ctx.control.identities.list()),

  begin: operation({
    method: "POST",
    path: "/auth/identities/begin",
    operationId: "begin-identity",
    tag: "Sign-in",
    summary: "Start connecting an identity provider",
    ability: "read",
    status: 201,
    errors: [...PROVIDER_ERRORS, "auth.session_required", "auth.confirmation_required", "resource.not_found"],
  })
    .input(Chosen)
    .output(ProviderBegun)
    .mutation(({ ctx, input }) => ctx.control.identities.begin(input.provider)),

  connect: operation({
    method: "POST",
    path: "/auth/identities",
    operationId: "connect-identity",
    tag: "Sign-in",
    summary: "Finish connecting an identity provider",
    description: "Afterwards you can sign in with it.",
    ability: "read",
    status: 201,
    errors: [...PROVIDER_ERRORS, "auth.session_required", "resource.already_exists"],
  })
    .input(ProviderReturn)
    .output(z.array(Identity))
    .mutation(({ ctx, input }) => ctx.control.identities.connect(input)),

  disconnect: operation({
    method: "POST",
    path: "/auth/identities/disconnect",
    operationId: "disconnect-identity",
    tag: "Sign-in",
    summary: "Disconnect a provider",
    description: "Refused if it is your only way to sign in.",
    ability: "read",
    errors: ["auth.session_required", "auth.confirmation_required", "resource.not_found", "resource.state"],
  })
    .input(z.strictObject({ provider_id: z.int().min(0).describe("The provider's number.") }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.identities.disconnect(input.provider_id)),
};
