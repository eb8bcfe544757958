import type { IdentityProviders, Mail, Mailer, PasskeyVerifier } from "@berth/core/ports";
import type { IdentityProviderOptions } from "./identity-provider.ts";
import type { MailServer } from "./mailer.ts";

export type { IdentityProviderOptions } from "./identity-provider.ts";
export type { MailServer } from "./mailer.ts";

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

/** Loaded with the first mail. @param warn Gets why a mail was not sent. */
export function mailer(server: MailServer, warn: (message: string, cause: unknown) => void): Mailer {
  let opening: Promise<(mail: Mail) => Promise<void>> | undefined;
  const sendMade = async (make: () => Promise<Mail | undefined>) => {
    const mail = await make();
    if (mail === undefined) return;
    opening ??= import("./mailer.ts").then(({ smtp }) => smtp(server));
    await (await opening)(mail);
  };
  return {
    send: (make) => void sendMade(make).catch((cause: unknown) => warn("A mail could not be sent.", cause)),
  };
}
