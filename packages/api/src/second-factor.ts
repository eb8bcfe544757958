import { Message } from "@berth/core";
import { RecoveryCodes, SecondFactor, SecondFactorEnable, SecondFactorSetup } from "@berth/core/team";
import { z } from "zod";
import { operation } from "./operation.ts";

const ERRORS = ["auth.session_required", "auth.confirmation_required", "resource.state"] as const;

const noInput = z.strictObject({});

/** Of the user who asks: nobody else sees whether they have one. */
export const secondFactor = {
  get: operation({
    method: "GET",
    path: "/auth/second-factor",
    operationId: "get-second-factor",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Say whether one has a second factor",
    ability: "read",
    errors: ["auth.session_required"],
  })
    .output(SecondFactor)
    .query(({ ctx }) => ctx.control.secondFactors.get()),

  begin: operation({
    method: "POST",
    path: "/auth/second-factor",
    operationId: "begin-second-factor",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Set up an authenticator app",
    description: "It counts once its first code was entered: `POST /auth/second-factor/enable`.",
    ability: "read",
    status: 201,
    errors: [...ERRORS, "auth.second_factor_missing"],
  })
    .input(noInput)
    .output(SecondFactorSetup)
    .mutation(({ ctx }) => ctx.control.secondFactors.begin()),

  enable: operation({
    method: "POST",
    path: "/auth/second-factor/enable",
    operationId: "enable-second-factor",
    tag: "Sign-in",
    withoutSecondFactor: true,
    summary: "Turn the second factor on",
    description:
      "From then on sign-in asks for a code after the password. The user's other sessions end. Answers the recovery " +
      "codes, once.",
    ability: "read",
    errors: [...ERRORS, "auth.second_factor_failed"],
  })
    .input(SecondFactorEnable)
    .output(RecoveryCodes)
    .mutation(({ ctx, input }) => ctx.control.secondFactors.enable(input)),

  renewRecoveryCodes: operation({
    method: "POST",
    path: "/auth/second-factor/recovery-codes",
    operationId: "renew-recovery-codes",
    tag: "Sign-in",
    summary: "Make new recovery codes",
    description: "The old ones stop working.",
    ability: "read",
    status: 201,
    errors: ERRORS,
  })
    .input(noInput)
    .output(RecoveryCodes)
    .mutation(({ ctx }) => ctx.control.secondFactors.renewRecoveryCodes()),

  disable: operation({
    method: "POST",
    path: "/auth/second-factor/disable",
    operationId: "disable-second-factor",
    tag: "Sign-in",
    summary: "Turn the second factor off",
    description: "From then on the password is enough.",
    ability: "read",
    errors: ERRORS,
  })
    .input(noInput)
    .output(Message)
    .mutation(({ ctx }) => ctx.control.secondFactors.disable()),
};
