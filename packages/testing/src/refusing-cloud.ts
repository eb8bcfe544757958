import { DomainError } from "@berth/core";
import type { CloudProviders } from "@berth/core/ports";
import { CLOUD_PROVIDERS } from "@berth/core/server";

const refuse = (): Promise<never> =>
  Promise.reject(new DomainError("cloud.refused", "There is no cloud in this test."));

/** Providers that refuse every token, for tests that do not concern them. */
export const refusingCloud: CloudProviders = {
  hetzner: {
    url: CLOUD_PROVIDERS.hetzner.url,
    checkToken: async () => ({ isValid: false, reason: "There is no cloud in this test." }),
    locations: refuse,
    serverTypes: refuse,
    images: refuse,
    sshKeys: refuse,
    ensureSshKey: refuse,
    createMachine: refuse,
    deleteMachine: refuse,
  },
  digitalocean: {
    url: CLOUD_PROVIDERS.digitalocean.url,
    checkToken: async () => ({ isValid: false, reason: "There is no cloud in this test." }),
  },
};
