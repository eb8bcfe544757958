import { Message } from "@berth/core";
import {
  AccountUpdate,
  Confirm,
  CreatedSignInLink,
  CurrentSession,
  LinkInspect,
  LinkRedeem,
  LinkRequest,
  PasswordChange,
  Session,
  SignedIn,
  SignIn,
  SignInLink,
  SignInMethods,
} from "@berth/core/team";
import { z } from "zod";
import { opened, ownPage } from "./opened.ts";
import { operation } from "./operation.ts";
import { passkeys } from "./passkey.ts";
import { identities, providers } from "./provider-sign-in.ts";
import { secondFactor } from "./second-factor.ts";
import { signInSettings } from "./sign-in-setting.ts";

const SESSION_ERRORS = ["auth.session_required"] as const;
const PASSWORD_ERRORS = [...SESSION_ERRORS, "auth.sign_in_failed"] as const;

const SECOND_FACTOR_ERRORS = ["auth.second_factor_required", "auth.second_factor_failed"] as const;

const noInput = z.strictObject({});

export const auth = {
  signIn: operation({
    method: "POST",
    path: "/auth/sign-in",
    operationId: "sign-in",
    tag: "Sign-in",
    summary: "Sign in with a password",
    description:
      "Sets the cookie of the session and answers its key. After five wrong passwords from an address each further " +
      "one has to wait longer. The answer is the same whether the user is known or not. Who has a second factor sends " +
      "its code, too; without it the right password is answered by `auth.second_factor_required`.",
    ability: null,
    status: 201,
    errors: [...SECOND_FACTOR_ERRORS, "auth.sign_in_failed", "auth.foreign_page", "resource.state", "rate.limited"],
  })
    .input(SignIn)
    .output(SignedIn)
    .mutation(({ ctx, input }) => opened(ctx, (visitor) => ctx.signIns.signIn(input, visitor))),

  methods: operation({
    method: "GET",
    path: "/auth/methods",
    operationId: "list-sign-in-methods",
    tag: "Sign-in",
    summary: "List the ways to sign in",
    description: "For the sign-in page. Its identity providers are a list of their own.",
    ability: null,
  })
    .output(SignInMethods)
    .query(({ ctx }) => ctx.signIns.methods()),

  requestLink: operation({
    method: "POST",
    path: "/auth/links/request",
    operationId: "request-sign-in-link",
    tag: "Sign-in",
    summary: "Have a sign-in link mailed",
    description:
      "For who forgot the password. The answer is the same whether the user is known or not; at most three mails go to " +
      "a user in 15 minutes. Needs a mail server.",
    ability: null,
    status: 202,
    errors: ["auth.foreign_page", "resource.state", "rate.limited"],
  })
    .input(LinkRequest)
    .output(Message)
    .mutation(({ ctx, input }) => ctx.signIns.requestLink(input, ownPage(ctx).visitor)),

  inspectLink: operation({
    method: "POST",
    path: "/auth/links/inspect",
    operationId: "inspect-sign-in-link",
    tag: "Sign-in",
    summary: "Say whom a sign-in link is for",
    description: "It stays as it is.",
    ability: null,
    errors: ["auth.link_invalid"],
  })
    .input(LinkInspect)
    .output(SignInLink)
    .mutation(({ ctx, input }) => ctx.signIns.inspectLink(input)),

  redeemLink: operation({
    method: "POST",
    path: "/auth/links/redeem",
    operationId: "redeem-sign-in-link",
    tag: "Sign-in",
    summary: "Sign in with a link",
    description: "Once. A user without a password chooses one; a new password ends the user's other sessions.",
    ability: null,
    status: 201,
    errors: [...SECOND_FACTOR_ERRORS, "auth.link_invalid", "auth.sign_in_failed", "auth.foreign_page", "rate.limited"],
  })
    .input(LinkRedeem)
    .output(SignedIn)
    .mutation(({ ctx, input }) => opened(ctx, (visitor) => ctx.signIns.redeemLink(input, visitor))),

  createLink: operation({
    method: "POST",
    path: "/auth/links",
    operationId: "create-own-sign-in-link",
    tag: "Sign-in",
    summary: "Make a sign-in link for oneself",
    description:
      "It signs the caller's user in once, within 24 hours. Made by the root team it also replaces a lost password.",
    ability: "root",
    status: 201,
    errors: ["auth.confirmation_required"],
  })
    .input(noInput)
    .output(CreatedSignInLink)
    .mutation(({ ctx }) => ctx.control.sessions.createLink()),

  current: operation({
    method: "GET",
    path: "/auth/session",
    operationId: "get-current-session",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Get the session that asks",
    description: "Who is signed in, in which team, and the teams that they may switch to.",
    ability: "read",
    errors: SESSION_ERRORS,
  })
    .output(CurrentSession)
    .query(({ ctx }) => ctx.control.sessions.current()),

  signOut: operation({
    method: "POST",
    path: "/auth/sign-out",
    operationId: "sign-out",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Sign out",
    description: "The session ends, and its streams within seconds.",
    ability: "read",
    errors: SESSION_ERRORS,
  })
    .input(noInput)
    .output(Message)
    .mutation(async ({ ctx }) => {
      const message = await ctx.control.sessions.signOut();
      ctx.browser?.setCookie(undefined);
      return message;
    }),

  confirm: operation({
    method: "POST",
    path: "/auth/confirm",
    operationId: "confirm-session",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Give the password again",
    description: "For the next 15 minutes the session sees secrets and may do what is dangerous.",
    ability: "read",
    errors: PASSWORD_ERRORS,
  })
    .input(Confirm)
    .output(CurrentSession)
    .mutation(({ ctx, input }) => ctx.control.sessions.confirm(input.password)),

  switchTeam: operation({
    method: "POST",
    path: "/auth/team",
    operationId: "switch-team",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Switch to another team",
    description: "Of the user's own, once they redeemed a link to it. Streams of the team before end within seconds.",
    ability: "read",
    errors: [...SESSION_ERRORS, "resource.not_found"],
  })
    .input(z.strictObject({ team_id: z.int().min(0).describe("The team's number.") }))
    .output(CurrentSession)
    .mutation(({ ctx, input }) => ctx.control.sessions.switchTeam(input.team_id)),

  update: operation({
    method: "PATCH",
    path: "/auth/user",
    operationId: "update-own-user",
    tag: "Sign-in",
    summary: "Change one's name or email address",
    description: "Another address needs the password given lately. Nothing is mailed to it.",
    ability: "read",
    errors: [...SESSION_ERRORS, "auth.confirmation_required", "resource.already_exists"],
  })
    .input(AccountUpdate)
    .output(CurrentSession)
    .mutation(({ ctx, input }) => ctx.control.sessions.update(input)),

  changePassword: operation({
    method: "PUT",
    path: "/auth/password",
    operationId: "change-password",
    tag: "Sign-in",
    summary: "Change one's password",
    description: "The user's other sessions end.",
    ability: "read",
    errors: PASSWORD_ERRORS,
  })
    .input(PasswordChange)
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.sessions.changePassword(input)),

  secondFactor,
  passkeys,
  providers,
  identities,
  settings: signInSettings,

  sessions: {
    list: operation({
      method: "GET",
      path: "/auth/sessions",
      operationId: "list-own-sessions",
      tag: "Sign-in",
      summary: "List one's sessions",
      description: "Of all teams, the newest first.",
      ability: "read",
      errors: SESSION_ERRORS,
    })
      .output(z.array(Session))
      .query(({ ctx }) => ctx.control.sessions.list()),

    revoke: operation({
      method: "POST",
      path: "/auth/sessions/revoke",
      operationId: "revoke-own-session",
      tag: "Sign-in",
      summary: "End one of one's sessions",
      ability: "read",
      errors: [...SESSION_ERRORS, "resource.not_found"],
    })
      .input(z.strictObject({ id: z.int().min(0).describe("The session's number.") }))
      .output(Message)
      .mutation(({ ctx, input }) => ctx.control.sessions.revoke(input.id)),

    revokeOthers: operation({
      method: "POST",
      path: "/auth/sessions/revoke-others",
      operationId: "revoke-other-sessions",
      tag: "Sign-in",
      summary: "End all of one's sessions but the one that asks",
      ability: "read",
      errors: SESSION_ERRORS,
    })
      .input(noInput)
      .output(Message)
      .mutation(({ ctx }) => ctx.control.sessions.revokeOthers()),
  },
};
