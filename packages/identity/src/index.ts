import type { IdentityProviders, PasskeyVerifier } from "@berth/core/ports";
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

/** Loaded with the first passkey that is used, for the same reason. */
export function passkeyVerifier(): PasskeyVerifier {
  let opening: Promise<PasskeyVerifier> | undefined;
  const opened = () => {
    opening ??= import("./passkey.ts").then((library) => library.passkeyVerifier);
    return opening;
  };
  return {
    registered: async (...given) => await (await opened()).registered(...given),
    used: async (...given) => await (await opened()).used(...given),
  };
}
