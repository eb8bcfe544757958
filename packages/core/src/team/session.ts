import { z } from "zod";
import type { SessionRecord } from "../ports/account.ts";
import { Timestamp, timestamp, timestampOrNull } from "../timestamp.ts";
import { NewPassword, Password } from "./password.ts";
import { ABILITIES, CONFIRMED_MINUTES, ROLES } from "./permission.ts";
import { SecondFactorCode } from "./second-factor.ts";

/** An unused session ends earlier. */
export const SESSION_IDLE_DAYS = 14;
export const SESSION_DAYS_MAX = 90;

/** Length of the half of the secret in the cookie; the page has the other half. */
export const COOKIE_SECRET_LENGTH = 43;
export const SESSION_KEY_LENGTH = 43;
export const LINK_CODE_LENGTH = 43;
export const LINK_HOURS = 24;

export const isConfirmed = (confirmedAt: Date | null, now: Date): boolean =>
  confirmedAt !== null && now.getTime() - confirmedAt.getTime() < CONFIRMED_MINUTES * 60_000;

/** The browser's own description, short enough to be stored and shown. */
export const deviceOf = (userAgent: string | undefined): string => {
  const printable = (userAgent ?? "").replaceAll(/[^\x20-\x7e]/g, "").trim();
  return printable === "" ? "Unknown" : printable.slice(0, 255);
};

/**
 * Any text, since answers do not reveal whether a user exists. The instance's own user has an address without a
 * domain.
 */
const UserEmail = z
  .string()
  .trim()
  .toLowerCase()
  .min(1, "Enter the email address.")
  .max(255, "At most 255 characters.");

export const SignIn = z.strictObject({
  email: UserEmail,
  password: Password,
  code: SecondFactorCode.optional(),
});
export type SignIn = z.infer<typeof SignIn>;

export const SignInMethods = z
  .object({ mailed_link: z.boolean().describe("Whether this instance mails sign-in links.") })
  .meta({ id: "SignInMethods", description: "Ways to sign in that depend on the instance, besides its providers." });
export type SignInMethods = z.infer<typeof SignInMethods>;

export const LinkRequest = z.strictObject({ email: UserEmail });
export type LinkRequest = z.infer<typeof LinkRequest>;

const LinkCode = z.string().min(1).max(128).describe("What the link has behind `#code=`.");

export const LinkInspect = z.strictObject({ code: LinkCode });
export type LinkInspect = z.infer<typeof LinkInspect>;

export const LinkRedeem = z.strictObject({
  code: LinkCode,
  password: Password.optional().describe("The user's own, or the one that they choose now."),
  second_factor_code: SecondFactorCode.optional(),
});
export type LinkRedeem = z.infer<typeof LinkRedeem>;

export const PasswordChange = z.strictObject({ current_password: Password, password: NewPassword });
export type PasswordChange = z.infer<typeof PasswordChange>;

export const Confirm = z.strictObject({ password: Password });
export type Confirm = z.infer<typeof Confirm>;

/**
 * Password of somebody who opens a link: `choose` a first one, `enter` the existing one, or `optional` choice of a
 * new one.
 */
export const LINK_PASSWORDS = ["choose", "enter", "optional"] as const;
export type LinkPassword = (typeof LINK_PASSWORDS)[number];

export const SignInLink = z
  .object({
    name: z.string(),
    email: z.string(),
    team_name: z.string(),
    password: z.enum(LINK_PASSWORDS).describe("Whether a password is chosen, entered, or may be chosen anew."),
  })
  .meta({ id: "SignInLink", description: "Whom a sign-in link is for." });
export type SignInLink = z.infer<typeof SignInLink>;

export const CreatedSignInLink = z
  .object({
    code: z.string().describe("It is never shown again."),
    url: z.string().nullable().describe("The page that takes it; null without `BERTH_PUBLIC_URL`."),
    expires_at: Timestamp,
  })
  .meta({ id: "CreatedSignInLink", description: "Signs a user in once." });
export type CreatedSignInLink = z.infer<typeof CreatedSignInLink>;

export const Session = z
  .object({
    id: z.int(),
    team_id: z.int(),
    device: z.string().describe("What its browser said of itself."),
    address: z.string().describe("Where it signed in from."),
    created_at: Timestamp,
    last_used_at: Timestamp.nullable(),
    expires_at: Timestamp.describe("Unless it is used before."),
    is_current: z.boolean(),
  })
  .meta({ id: "Session", description: "A browser session of a user." });
export type Session = z.infer<typeof Session>;

const TeamOfUser = z
  .object({ id: z.int(), name: z.string(), role: z.enum(ROLES) })
  .meta({ id: "TeamOfUser", description: "A team that a user may enter, with their role." });

export const CurrentSession = z
  .object({
    session: Session,
    user: z.object({ id: z.int(), name: z.string(), email: z.string() }),
    team: TeamOfUser,
    teams: z.array(TeamOfUser).describe("Those that the user may switch to."),
    abilities: z.array(z.enum(ABILITIES)),
    needs_second_factor: z
      .boolean()
      .describe("Whether the team requires a second factor that the user lacks: until then all else is refused."),
    confirmed_until: Timestamp.nullable().describe("Until then secrets are shown; null when the password is due."),
  })
  .meta({ id: "CurrentSession", description: "Who is signed in, and where." });
export type CurrentSession = z.infer<typeof CurrentSession>;

export const SignedIn = z
  .object({
    key: z.string().describe("The half of the session that the page keeps. It is never shown again."),
    session: CurrentSession,
  })
  .meta({ id: "SignedIn", description: "A new session. Its other half is in the cookie." });
export type SignedIn = z.infer<typeof SignedIn>;

export const sessionView = (session: SessionRecord, currentId: number): Session => ({
  id: session.id,
  team_id: session.team_id,
  device: session.device,
  address: session.address,
  created_at: timestamp(session.created_at),
  last_used_at: timestampOrNull(session.last_used_at),
  expires_at: timestamp(session.expires_at),
  is_current: session.id === currentId,
});
