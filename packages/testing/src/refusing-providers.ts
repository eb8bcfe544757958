import { DomainError } from "@berth/core";
import type { IdentityProviders, PasskeyVerifier } from "@berth/core/ports";

const refuse = async () => {
  throw new DomainError("auth.provider_failed", "No identity provider answers here.");
};

/** For suites that call none. */
export const refusingProviders: IdentityProviders = { authorizationUrl: refuse, identity: refuse };

/** As if each answer of a passkey were wrong. */
export const refusingPasskeys: PasskeyVerifier = { registered: async () => undefined, used: async () => undefined };
