import type { CloudImage, CloudLocation, CloudServerType, CloudSshKey } from "../server/cloud-catalogue.ts";

/** One adapter for each provider. */
export interface CloudProviders {
  readonly hetzner: MachineProvider;
  readonly digitalocean: CloudProvider;
}

/**
 * Each call is authenticated by its token. All calls reject with DomainError `cloud.rate_limited`, with the seconds
 * to wait, and `cloud.failed` if the provider cannot be reached or its answer is not understood. No error contains
 * the token.
 */
export interface CloudProvider {
  /** Where its API is called: tokens are sent to no other origin. */
  readonly url: string;
  /** Whether the provider accepts the token; if not, a sentence for people. */
  checkToken(token: string): Promise<{ readonly isValid: true } | { readonly isValid: false; readonly reason: string }>;
}

/** A provider that rents machines. All calls reject with `cloud.refused` if it refuses the token. */
export interface MachineProvider extends CloudProvider {
  /** Lists are complete, whatever the provider's page size, in its order. */
  locations(token: string): Promise<readonly CloudLocation[]>;
  /** Without types that can no longer be rented. */
  serverTypes(token: string): Promise<readonly CloudServerType[]>;
  /** Images of the provider itself, without those that can no longer be used. */
  images(token: string): Promise<readonly CloudImage[]>;
  sshKeys(token: string): Promise<readonly CloudSshKey[]>;
  /** The provider's number for a public key, which is uploaded if missing. Idempotent. */
  ensureSshKey(token: string, key: { readonly name: string; readonly publicKey: string }): Promise<number>;
  /**
   * Creates one machine or none: if the answer is lost, the machine is looked up by its label.
   * @throws DomainError `request.invalid` by field, `resource.already_exists` for a name that is taken,
   * `cloud.refused`
   */
  createMachine(token: string, machine: NewMachine): Promise<Machine>;
  /** Idempotent. */
  deleteMachine(token: string, id: number): Promise<void>;
}

export interface NewMachine {
  /** Unique in the provider's project. */
  readonly name: string;
  readonly location: string;
  readonly serverType: string;
  readonly image: number;
  readonly sshKeyIds: readonly number[];
  readonly hasIpv4: boolean;
  readonly hasIpv6: boolean;
  /** Script that cloud-init runs at the first boot. */
  readonly userData: string | null;
  /** uuid of the server for this machine, stored as a label to find the machine again. */
  readonly serverUuid: string;
}

export interface Machine {
  readonly id: number;
  readonly name: string;
  readonly ipv4: string | null;
  /** An address, or a network such as `2001:db8:1::/64`, whose first address the machine has. */
  readonly ipv6: string | null;
}
