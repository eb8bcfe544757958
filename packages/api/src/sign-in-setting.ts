import { SignInSettings, SignInSettingsUpdate } from "@berth/core/team";
import { operation } from "./operation.ts";

const OF_INSTANCE = {
  path: "/instance/sign-in",
  tag: "Sign-in",
  ability: "root",
  rootTeamOnly: "decide how people sign in to the instance",
} as const;

export const signInSettings = {
  get: operation({
    ...OF_INSTANCE,
    method: "GET",
    operationId: "get-sign-in-settings",
    summary: "Get how people sign in to the instance",
  })
    .output(SignInSettings)
    .query(({ ctx }) => ctx.control.signInSettings.get()),

  update: operation({
    ...OF_INSTANCE,
    method: "PATCH",
    operationId: "update-sign-in-settings",
    summary: "Change how people sign in to the instance",
    errors: ["auth.confirmation_required"],
  })
    .input(SignInSettingsUpdate)
    .output(SignInSettings)
    .mutation(({ ctx, input }) => ctx.control.signInSettings.update(input)),
};
