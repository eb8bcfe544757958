import { z } from "zod";
import { DomainError } from "../errors.ts";
import type { SecondFactorRecord } from "../ports/second-factor.ts";
import { Timestamp, timestampOrNull } from "../timestamp.ts";
import type { Scope } from "./permission.ts";

/**
 * Where the team or the instance requires a second factor.
 * @throws DomainError `auth.second_factor_missing`
 */
export function requireSecondFactorIn({ actor }: Pick<Scope, "actor">): void {
  if (actor.type !== "token" || actor.session?.lacksSecondFactor !== true) return;
  throw new DomainError(
    "auth.second_factor_missing",
    "This team requires a second factor. Set up an authenticator app or a passkey first: Account, or POST /auth/second-factor.",
  );
}

/** How many of them a user gets at once. */
export const RECOVERY_CODES = 10;

export const SecondFactorCode = z
  .string()
  .min(1, "Enter the code.")
  .max(64, "At most 64 characters.")
  .describe("The six digits that the authenticator app shows, or a recovery code.");

export const SecondFactorEnable = z.strictObject({
  code: SecondFactorCode.describe("The six digits that the authenticator app shows."),
});
export type SecondFactorEnable = z.infer<typeof SecondFactorEnable>;

/** Which of the two a code is, and how it is compared: people group characters by spaces and hyphens. */
export function readCode(code: string): { readonly kind: "app" | "recovery"; readonly text: string } {
  const text = code.replaceAll(/[\s-]/g, "").toUpperCase();
  return { kind: /^\d{6}$/.test(text) ? "app" : "recovery", text };
}

/** In groups of four, as it is shown. */
export const shownCode = (text: string): string => text.match(/.{1,4}/g)?.join("-") ?? "";

export const SecondFactor = z
  .object({
    is_enabled: z.boolean().describe("Whether a code is asked for after the password."),
    enabled_at: Timestamp.nullable(),
    recovery_codes_left: z.int(),
  })
  .meta({ id: "SecondFactor", description: "Whether a user proves themselves with an authenticator app, too." });
export type SecondFactor = z.infer<typeof SecondFactor>;

export const SecondFactorSetup = z
  .object({
    secret: z.string().describe("For an app that cannot read the QR code. It is never shown again."),
    uri: z.string().describe("What the QR code contains."),
  })
  .meta({ id: "SecondFactorSetup", description: "What an authenticator app is set up with." });
export type SecondFactorSetup = z.infer<typeof SecondFactorSetup>;

export const RecoveryCodes = z
  .object({
    recovery_codes: z.array(z.string()).describe("Each works once, instead of a code. They are never shown again."),
  })
  .meta({ id: "RecoveryCodes", description: "For a user whose authenticator app is lost." });
export type RecoveryCodes = z.infer<typeof RecoveryCodes>;

export const secondFactorView = (factor: SecondFactorRecord | undefined): SecondFactor => ({
  is_enabled: factor !== undefined && factor.confirmed_at !== null,
  enabled_at: timestampOrNull(factor?.confirmed_at ?? null),
  recovery_codes_left: factor?.recovery_codes_left ?? 0,
});
