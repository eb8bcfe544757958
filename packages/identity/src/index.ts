import type { IdentityProviders } from "@berth/core/ports";
import type { IdentityProviderOptions } from "./identity-provider.ts";

export type { IdentityProviderOptions } from "./identity-provider.ts";

/** OpenID Connect and GitHub. The library is loaded with the first sign-in, since many instances have no provider. */
export function identityProviders(options: IdentityProviderOptions): IdentityProviders {
  let opening: Promise<IdentityProviders> | undefined;
  const opened = () => {
    opening ??= import("./identity-provider.ts").then((library) => library.identityProviders(options));
    return opening;
  };
  return {
    authorizationUrl: async (...given) => await (await opened()).authorizationUrl(...given),
    identity: async (...given) => await (await opened()).identity(...given),
  };
}
