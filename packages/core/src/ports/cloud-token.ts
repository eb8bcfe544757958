import type { OriginCredential } from "../origin-credential.ts";
import type { CloudProviderKind } from "../server/cloud-provider-kind.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A token of a cloud provider, without its secret. */
export interface CloudTokenRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly provider: CloudProviderKind;
  readonly name: string;
  /** Number of servers that were created with it. */
  readonly servers_count: number;
}

export interface CloudTokenStore {
  list(paging?: Paging): Promise<Page<CloudTokenRecord>>;
  find(uuid: string): Promise<CloudTokenRecord | undefined>;
  /** @param token Stored encrypted, for the origin of `url`. */
  insert(cloudToken: {
    readonly uuid: string;
    readonly provider: CloudProviderKind;
    readonly name: string;
    readonly token: string;
    readonly url: string;
  }): Promise<CloudTokenRecord>;
  update(uuid: string, change: { readonly name: string }): Promise<CloudTokenRecord | undefined>;
  /** The token itself, for calls to the provider. Answers never contain it. */
  secret(uuid: string): Promise<OriginCredential<string> | undefined>;
  /** `false` if servers use it. */
  deleteIfUnused(uuid: string): Promise<boolean>;
}
