import type { Page, Paging, Timestamps } from "./records.ts";

/** A team's login for a registry of images, without the password. */
export interface RegistryRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly description: string | null;
  /** Host, with its port if it has one. A team has one login for each. */
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
  /** @throws DomainError `resource.already_exists` if the team has a login for this address. */
  insert(uuid: string, registry: RegistryFields & { readonly password: string }): Promise<RegistryRecord>;
  /**
   * Omitted fields keep their values, but the password is kept only if the address is unchanged.
   * @throws DomainError `resource.already_exists`
   */
  update(
    uuid: string,
    change: Given<RegistryFields & { readonly password: string }>,
  ): Promise<(RegistryRecord & { readonly isCredentialDropped: boolean }) | undefined>;
  /** Passwords by id, stored encrypted. Logins without a password are missing. */
  passwordsOf(ids: readonly number[]): Promise<ReadonlyMap<number, string>>;
  /** All logins of the team that have a password. */
  logins(): Promise<readonly RegistryLogin[]>;
  delete(uuid: string): Promise<boolean>;
}
