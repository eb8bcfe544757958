/** Those with an issuer of their own need no more than what Berth is registered with there. */
export const PROVIDER_ISSUERS = {
  oidc: null,
  google: "https://accounts.google.com",
  github: "https://github.com",
} as const;
export const PROVIDER_KINDS = [
  "oidc",
  "google",
  "github",
] as const satisfies readonly (keyof typeof PROVIDER_ISSUERS)[];
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/**
 * Who is let in beside users who connected an identity themselves: nobody, who was invited, or whole domains or groups,
 * too.
 */
export const SIGN_UPS = ["closed", "invited", "domain", "group"] as const;
export type SignUp = (typeof SIGN_UPS)[number];
