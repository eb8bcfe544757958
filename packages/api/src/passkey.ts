import { Message } from "@berth/core";
import {
  CurrentSession,
  Passkey,
  PasskeyChoice,
  PasskeyCreate,
  PasskeyCreation,
  PasskeyRename,
  PasskeyRequest,
  PasskeyUse,
  SignedIn,
} from "@berth/core/team";
import { z } from "zod";
import { opened, pageOrigin } from "./opened.ts";
import { operation } from "./operation.ts";

const OWN_ERRORS = ["auth.session_required", "auth.foreign_page"] as const;
const REGISTER_ERRORS = [...OWN_ERRORS, "auth.confirmation_required", "auth.second_factor_missing"] as const;

const noInput = z.strictObject({});

/** Passkeys of the user who asks, and sign-in with one. */
export const passkeys = {
  list: operation({
    method: "GET",
    path: "/auth/passkeys",
    operationId: "list-own-passkeys",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "List one's passkeys",
    ability: "read",
    errors: ["auth.session_required"],
  })
    .output(z.array(Passkey))
    .query(({ ctx }) => ctx.control.passkeys.list()),

  begin: operation({
    method: "POST",
    path: "/auth/passkeys/begin",
    operationId: "begin-passkey",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Start adding a passkey",
    description: "Answers what the browser creates it with, within five minutes. Needs the password given lately.",
    ability: "read",
    status: 201,
    errors: [...REGISTER_ERRORS, "resource.state"],
  })
    .input(noInput)
    .output(PasskeyCreation)
    .mutation(({ ctx }) => ctx.control.passkeys.begin(pageOrigin(ctx))),

  create: operation({
    method: "POST",
    path: "/auth/passkeys",
    operationId: "create-passkey",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Add a passkey",
    description:
      "From then on it signs its user in without password and code, at the address of the dashboard where it was made.",
    ability: "read",
    status: 201,
    errors: [...REGISTER_ERRORS, "auth.passkey_failed", "resource.already_exists"],
  })
    .input(PasskeyCreate)
    .output(Passkey)
    .mutation(({ ctx, input }) => ctx.control.passkeys.create(input, pageOrigin(ctx))),

  rename: operation({
    method: "POST",
    path: "/auth/passkeys/rename",
    operationId: "rename-passkey",
    tag: "Sign-in",
    summary: "Rename one of one's passkeys",
    ability: "read",
    errors: ["auth.session_required", "resource.not_found"],
  })
    .input(PasskeyRename)
    .output(Passkey)
    .mutation(({ ctx, input }) => ctx.control.passkeys.rename(input)),

  remove: operation({
    method: "POST",
    path: "/auth/passkeys/remove",
    operationId: "remove-passkey",
    tag: "Sign-in",
    summary: "Remove one of one's passkeys",
    description: "Other sessions that were begun or confirmed with it end.",
    ability: "read",
    errors: [...REGISTER_ERRORS, "resource.not_found", "resource.state"],
  })
    .input(PasskeyChoice)
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.passkeys.remove(input.id)),

  beginConfirm: operation({
    method: "POST",
    path: "/auth/passkeys/confirm/begin",
    operationId: "begin-passkey-confirmation",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Start confirming with a passkey",
    ability: "read",
    status: 201,
    errors: [...OWN_ERRORS, "resource.state"],
  })
    .input(noInput)
    .output(PasskeyRequest)
    .mutation(({ ctx }) => ctx.control.passkeys.beginConfirm(pageOrigin(ctx))),

  confirm: operation({
    method: "POST",
    path: "/auth/passkeys/confirm",
    operationId: "confirm-session-with-passkey",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Confirm with a passkey",
    description: "As `POST /auth/confirm` does with the password. The session then counts as one with two factors.",
    ability: "read",
    errors: [...OWN_ERRORS, "auth.passkey_failed"],
  })
    .input(PasskeyUse)
    .output(CurrentSession)
    .mutation(({ ctx, input }) => ctx.control.passkeys.confirm(input, pageOrigin(ctx))),

  beginSignIn: operation({
    method: "POST",
    path: "/auth/passkeys/sign-in/begin",
    operationId: "begin-passkey-sign-in",
    tag: "Sign-in",
    summary: "Start a sign-in with a passkey",
    description: "The answer is the same for everybody: the browser offers the passkeys that it has for this address.",
    ability: null,
    status: 201,
    errors: ["auth.foreign_page", "resource.state"],
  })
    .input(noInput)
    .output(PasskeyRequest)
    .mutation(({ ctx }) => ctx.signIns.beginWithPasskey(pageOrigin(ctx))),

  signIn: operation({
    method: "POST",
    path: "/auth/passkeys/sign-in",
    operationId: "sign-in-with-passkey",
    tag: "Sign-in",
    summary: "Sign in with a passkey",
    description: "It replaces password and code: the device that has it asks for a PIN, a finger or a face.",
    ability: null,
    status: 201,
    errors: ["auth.foreign_page", "auth.passkey_failed", "resource.state", "rate.limited"],
  })
    .input(PasskeyUse)
    .output(SignedIn)
    .mutation(({ ctx, input }) =>
      opened(ctx, (visitor) => ctx.signIns.signInWithPasskey(input, pageOrigin(ctx), visitor)),
    ),
};
