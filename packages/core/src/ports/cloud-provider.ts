import type { CloudImage, CloudLocation, CloudServerType, CloudSshKey } from "../server/cloud-catalogue.ts";

/** One adapter for each provider. */
export interface CloudProviders {
  readonly hetzner: MachineProvider;
  readonly digitalocean: CloudProvider;
}

/**
 * Every call takes the token that it is made with. Besides what is said of each, all reject with DomainError
 * `cloud.rate_limited` with the seconds to wait, and `cloud.failed` when the provider cannot be reached or answers what
 * nobody understands. No error holds the token.
 */
export interface CloudProvider {
  /** Whether the provider takes the token; a sentence for people when it does not. */
  checkToken(token: string): Promise<{ readonly isValid: true } | { readonly isValid: false; readonly reason: string }>;
}

/** A provider that lists what it rents and makes machines. All reject with `cloud.refused` for a token it refuses. */
export interface MachineProvider extends CloudProvider {
  /** Lists are whole, however many pages the provider makes of them, and as it orders them. */
  locations(token: string): Promise<readonly CloudLocation[]>;
  /** Without what can no longer be rented. */
  serverTypes(token: string): Promise<readonly CloudServerType[]>;
  /** Those of the provider itself, without what can no longer be used. */
  images(token: string): Promise<readonly CloudImage[]>;
  sshKeys(token: string): Promise<readonly CloudSshKey[]>;
  /** The provider's number for a public key, which it is given when it does not have it. Idempotent. */
  ensureSshKey(token: string, key: { readonly name: string; readonly publicKey: string }): Promise<number>;
  /**
   * Makes one machine or none: where the answer is lost, it is looked for by its label.
   * @throws DomainError `request.invalid` by field, `resource.already_exists` for a name that is taken, `cloud.refused`
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
  /** Script that cloud-init runs at the first start. */
  readonly userData: string | null;
  /** uuid of the server for this machine, stored as a label by which the machine is found again. */
  readonly serverUuid: string;
}

export interface Machine {
  readonly id: number;
  readonly name: string;
  readonly ipv4: string | null;
  /** A network such as `2001:db8:1::/64`, of which the machine has the first address, or an address. */
  readonly ipv6: string | null;
}
