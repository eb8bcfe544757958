import { DomainError } from "@berth/core";
import type { IdentityProviders } from "@berth/core/ports";

const refuse = async () => {
  throw new DomainError("auth.provider_failed", "No identity provider answers here.");
};

/** For suites that call none. */
export const refusingProviders: IdentityProviders = { authorizationUrl: refuse, identity: refuse };
