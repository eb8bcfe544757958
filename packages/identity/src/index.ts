export { type IdentityProviderOptions, identityProviders } from "./identity-provider.ts";
