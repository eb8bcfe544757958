import type { Page, Paging, Timestamps } from "./records.ts";

/** A registry of images that a team has a login for, without the password. */
export interface RegistryRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly description: string | null;
  /** Host, and its port where it has one. Only one login of a team for each. */
  readonly address: string;
  readonly username: string;
}
export type RegistryFields = Omit<RegistryRecord, "id" | "uuid" | "team_id" | keyof Timestamps>;

/** Login for a registry. Secret. */
export interface RegistryLogin extends Pick<RegistryRecord, "address" | "username"> {
  readonly password: string;
}

type Given<T> = { readonly [K in keyof T]?: T[K] | undefined };

export interface RegistryStore {
  list(paging?: Paging): Promise<Page<RegistryRecord>>;
  find(uuid: string): Promise<RegistryRecord | undefined>;
  /** @throws DomainError `resource.already_exists` when the team has a login for this address. */
  insert(uuid: string, registry: RegistryFields & { readonly password: string }): Promise<RegistryRecord>;
  /**
   * Omitted fields keep their values, the password only where the address stays.
   * @throws DomainError `resource.already_exists`
   */
  update(
    uuid: string,
    change: Given<RegistryFields & { readonly password: string }>,
  ): Promise<(RegistryRecord & { readonly isCredentialDropped: boolean }) | undefined>;
  /** Kept encrypted. Of several at once, by id. Those that were dropped are absent. */
  passwordsOf(ids: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** All of the team that have a password. */
  logins(): Promise<readonly RegistryLogin[]>;
  delete(uuid: string): Promise<boolean>;
}
