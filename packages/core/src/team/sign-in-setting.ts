import { z } from "zod";

export const SignInSettings = z
  .object({
    second_factor_required: z.boolean().describe("Sessions of all teams need a second factor."),
  })
  .meta({ id: "SignInSettings", description: "How people sign in to the instance." });
export type SignInSettings = z.infer<typeof SignInSettings>;

export const SignInSettingsUpdate = z.strictObject({
  second_factor_required: z.boolean().optional().describe("Sessions of all teams need a second factor."),
});
export type SignInSettingsUpdate = z.infer<typeof SignInSettingsUpdate>;
