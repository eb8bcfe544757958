import { DomainError } from "@berth/core";
import type { CloudProviders } from "@berth/core/ports";

const refuse = (): Promise<never> =>
  Promise.reject(new DomainError("cloud.refused", "There is no cloud in this test."));

/** Providers that take no token, for what has nothing to do with them. */
export const refusingCloud: CloudProviders = {
  hetzner: {
    checkToken: async () => ({ isValid: false, reason: "There is no cloud in this test." }),
    locations: refuse,
    serverTypes: refuse,
    images: refuse,
    sshKeys: refuse,
    ensureSshKey: refuse,
    createMachine: refuse,
    deleteMachine: refuse,
  },
  digitalocean: { checkToken: async () => ({ isValid: false, reason: "There is no cloud in this test." }) },
};
