import type { OriginCredential } from "../origin-credential.ts";
import type { Page, Paging, Timestamps } from "./records.ts";

/** A bucket for backups, without its credentials. */
export interface S3StorageRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly description: string | null;
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly is_usable: boolean;
}
export type S3StorageFields = Omit<S3StorageRecord, "id" | "uuid" | "team_id" | keyof Timestamps>;

/** Stored encrypted. */
export interface S3Credentials {
  readonly key: string;
  readonly secret: string;
}

type Given<T> = { readonly [K in keyof T]?: T[K] | undefined };

export interface S3StorageStore {
  list(paging?: Paging): Promise<Page<S3StorageRecord>>;
  find(uuid: string): Promise<S3StorageRecord | undefined>;
  insert(uuid: string, storage: S3StorageFields & S3Credentials): Promise<S3StorageRecord>;
  /** Omitted fields keep their values, but key and secret are kept only if the endpoint's origin is unchanged. */
  update(
    uuid: string,
    change: Given<S3StorageFields & S3Credentials>,
  ): Promise<(S3StorageRecord & { readonly isCredentialDropped: boolean }) | undefined>;
  /** Credentials by id. Storages without credentials are missing. */
  credentialsOf(ids: readonly number[]): Promise<ReadonlyMap<number, OriginCredential<S3Credentials>>>;
  /** `false` if backups use it. */
  deleteIfUnused(uuid: string): Promise<boolean>;
}
