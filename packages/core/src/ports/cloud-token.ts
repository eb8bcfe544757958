import type { CloudProviderKind } from "../server/cloud-provider-kind.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A login at a cloud provider, without the login itself. */
export interface CloudTokenRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly provider: CloudProviderKind;
  readonly name: string;
  /** Servers that were made with it. */
  readonly servers_count: number;
}

export interface CloudTokenStore {
  list(paging?: Paging): Promise<Page<CloudTokenRecord>>;
  find(uuid: string): Promise<CloudTokenRecord | undefined>;
  /** @param token Kept encrypted. */
  insert(cloudToken: {
    readonly uuid: string;
    readonly provider: CloudProviderKind;
    readonly name: string;
    readonly token: string;
  }): Promise<CloudTokenRecord>;
  update(uuid: string, change: { readonly name: string }): Promise<CloudTokenRecord | undefined>;
  /** The text that the provider knows, for calls to it: no answer carries it. */
  secret(uuid: string): Promise<string | undefined>;
  /** `false` when servers use it. */
  deleteIfUnused(uuid: string): Promise<boolean>;
}
