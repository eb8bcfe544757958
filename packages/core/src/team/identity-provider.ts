import { z } from "zod";
import { invalid } from "../errors.ts";
import { ResourceName } from "../name.ts";
import type { IdentityProviderRecord, IdentityRecord } from "../ports/identity-provider.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { GROUP_ROLES_MAX, GroupRole } from "./group-role.ts";
import { PROVIDER_KINDS, SIGN_UPS } from "./provider-kind.ts";
import { SecondFactorCode } from "./second-factor.ts";

/** Time that a user has to sign in at the provider. */
export const ATTEMPT_MINUTES = 10;

/** Plain http is allowed only for providers on this machine. */
const Issuer = z
  .string()
  .trim()
  .max(255, "At most 255 characters.")
  .regex(
    /^(https:\/\/[^\s/?#@]+|http:\/\/(localhost|127\.0\.0\.1)(:\d+)?)(\/[^\s?#]*)?$/,
    "Must be an https URL without query, such as https://id.example.com/realms/main.",
  );

const DOMAIN = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/;

export const domainsOf = (text: string): readonly string[] =>
  text
    .split(",")
    .map((domain) => domain.trim().toLowerCase())
    .filter((domain) => domain !== "");

const Domains = z
  .string()
  .max(1024, "At most 1024 characters.")
  .refine((text) => domainsOf(text).every((domain) => DOMAIN.test(domain)), "Must be domains, separated by commas.")
  .describe("Domains of the email addresses that may sign up, separated by commas.");

const FIELDS = {
  name: ResourceName.describe("Label of its button on the sign-in page."),
  client_id: z.string().trim().min(1, "This field is required.").max(255, "At most 255 characters."),
  client_secret: z.string().trim().min(1, "This field is required.").max(1024, "At most 1024 characters."),
  sign_up: z
    .enum(SIGN_UPS)
    .describe(
      "Who may sign in: users who connected it (`closed`), also invited users, also everyone with an address of `sign_up_domains`, or also everyone whom `group_roles` give a team.",
    ),
  sign_up_domains: Domains,
  team_id: z.int().min(0).nullable().describe("Team that users join when they sign up by their domain."),
  groups_claim: z
    .string()
    .trim()
    .min(1, "This field is required.")
    .max(255, "At most 255 characters.")
    .describe(
      "Claim of the ID token or of the user's information that lists their groups, such as `groups`, or a path such as `realm_access.roles`.",
    ),
  group_roles: z
    .array(GroupRole)
    .max(GROUP_ROLES_MAX, `At most ${GROUP_ROLES_MAX} rules.`)
    .describe(
      "What groups of `oidc` and `google` providers give: a role in a team, the highest where several do. Set at each sign-in; memberships that groups gave end when they give them no longer. Memberships of other origin stay as they are.",
    ),
};

export const IdentityProviderCreate = z.strictObject({
  name: FIELDS.name,
  kind: z.enum(PROVIDER_KINDS).describe("`oidc` is any provider that speaks OpenID Connect."),
  issuer: Issuer.optional().describe("URL of the provider for `oidc`; for `github`, of a GitHub Enterprise server."),
  client_id: FIELDS.client_id,
  client_secret: FIELDS.client_secret,
  sign_up: FIELDS.sign_up.optional().meta({ default: "closed" }),
  sign_up_domains: FIELDS.sign_up_domains.optional(),
  team_id: FIELDS.team_id.optional(),
  groups_claim: FIELDS.groups_claim.optional().meta({ default: "groups" }),
  group_roles: FIELDS.group_roles.optional(),
});
export type IdentityProviderCreate = z.infer<typeof IdentityProviderCreate>;

export const IdentityProviderUpdate = z.strictObject({
  name: FIELDS.name.optional(),
  client_id: FIELDS.client_id.optional(),
  client_secret: FIELDS.client_secret.optional(),
  sign_up: FIELDS.sign_up.optional(),
  sign_up_domains: FIELDS.sign_up_domains.optional(),
  team_id: FIELDS.team_id.optional(),
  groups_claim: FIELDS.groups_claim.optional(),
  group_roles: FIELDS.group_roles.optional(),
});
export type IdentityProviderUpdate = z.infer<typeof IdentityProviderUpdate>;

export const IdentityProvider = z
  .object({
    uuid: z.string(),
    name: z.string(),
    kind: z.enum(PROVIDER_KINDS),
    issuer: z.string(),
    client_id: z.string(),
    sign_up: z.enum(SIGN_UPS),
    sign_up_domains: z.string(),
    team_id: z.int().nullable(),
    groups_claim: z.string(),
    group_roles: z.array(GroupRole),
    redirect_uri: z
      .string()
      .nullable()
      .describe("Redirect URL to register at the provider; null without `BERTH_PUBLIC_URL`."),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "IdentityProvider", description: "A service that users sign in with instead of a password." });
export type IdentityProvider = z.infer<typeof IdentityProvider>;

export const ProviderChoice = z
  .object({ uuid: z.string(), name: z.string() })
  .meta({ id: "ProviderChoice", description: "An identity provider that the sign-in page offers." });
export type ProviderChoice = z.infer<typeof ProviderChoice>;

export const ProviderBegun = z
  .object({
    url: z.string().describe("Where the browser goes."),
    key: z.string().describe("Keep it in the page: the sign-in cannot be finished without it."),
  })
  .meta({ id: "ProviderBegun", description: "A sign-in at a provider." });
export type ProviderBegun = z.infer<typeof ProviderBegun>;

export const ProviderReturn = z.strictObject({
  key: z.string().min(1).max(128),
  query: z.string().min(1).max(8192).describe("Query of the URL that the provider redirected to, without `?`."),
});
export type ProviderReturn = z.infer<typeof ProviderReturn>;

export const ProviderSignIn = ProviderReturn.extend({ code: SecondFactorCode.optional() });
export type ProviderSignIn = z.infer<typeof ProviderSignIn>;

export const Identity = z
  .object({
    provider: z.string().describe("Its name."),
    provider_id: z.int(),
    email: z.string().nullable(),
    created_at: Timestamp,
  })
  .meta({ id: "Identity", description: "The account of a user at an identity provider." });
export type Identity = z.infer<typeof Identity>;

/** Page that the provider redirects the browser to. */
export const redirectUri = (instanceUrl: string): string => `${instanceUrl.replace(/\/$/, "")}/sign-in/callback`;

/** @throws DomainError `request.invalid` */
export function requireSignUpPlace({ kind, sign_up, sign_up_domains, team_id, group_roles }: SignUpRules): void {
  if (kind === "github" && group_roles.length > 0) throw invalid({ group_roles: ["GitHub reports no groups."] });
  if (sign_up === "group" && group_roles.length === 0)
    throw invalid({ group_roles: ["Set what groups may sign up, and what they give."] });
  if (sign_up !== "domain") return;
  if (domainsOf(sign_up_domains).length === 0)
    throw invalid({ sign_up_domains: ["Set the domains that may sign up."] });
  if (team_id === null) throw invalid({ team_id: ["Set the team that they join."] });
}

type SignUpRules = Pick<IdentityProviderRecord, "kind" | "sign_up" | "sign_up_domains" | "team_id" | "group_roles">;

/** @param email Verified by the provider. */
export const maySignUp = (
  { sign_up, sign_up_domains }: Pick<SignUpRules, "sign_up" | "sign_up_domains">,
  email: string,
): boolean => sign_up === "domain" && domainsOf(sign_up_domains).includes(email.slice(email.lastIndexOf("@") + 1));

export const identityProviderView = (
  provider: IdentityProviderRecord,
  instanceUrl: string | null,
): IdentityProvider => ({
  uuid: provider.uuid,
  name: provider.name,
  kind: provider.kind,
  issuer: provider.issuer,
  client_id: provider.client_id,
  sign_up: provider.sign_up,
  sign_up_domains: provider.sign_up_domains,
  team_id: provider.team_id,
  groups_claim: provider.groups_claim,
  group_roles: [...provider.group_roles],
  redirect_uri: instanceUrl === null ? null : redirectUri(instanceUrl),
  created_at: timestamp(provider.created_at),
  updated_at: timestamp(provider.updated_at),
});

export const identityView = ({ provider_id, provider_name, email, created_at }: IdentityRecord): Identity => ({
  provider: provider_name,
  provider_id,
  email,
  created_at: timestamp(created_at),
});
