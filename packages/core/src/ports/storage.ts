import type { Page, Paging, Timestamps } from "./records.ts";

export interface StorageRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly type: "persistent" | "file";
  /** Name of a persistent storage; `null` for a file. */
  readonly name: string | null;
  /** Absolute, normalised. Unique within a resource, or within a container of it. */
  readonly mount_path: string;
  /** Folder of the server that a persistent storage mounts instead of a volume. */
  readonly host_path: string | null;
  /** For a directory its folder on the server; for a file the path where it is stored. */
  readonly fs_path: string | null;
  /** Content of a file, decrypted. */
  readonly content: string | null;
  readonly is_directory: boolean;
  readonly is_preview_suffix_enabled: boolean;
  /** Name of the container that mounts it, if the resource has several. */
  readonly container: string | null;
  /**
   * Defined by the resource itself (a compose file, a service, a database engine's data), so it can be changed only
   * there.
   */
  readonly is_managed: boolean;
  /** The container cannot write to it. */
  readonly is_read_only: boolean;
  /** Its volume was mounted before, so it contains data. */
  readonly has_volume: boolean;
}
export type StorageFields = Omit<StorageRecord, "id" | "uuid" | "has_volume" | keyof Timestamps>;

export interface StorageStore {
  /** Persistent storages, then files, each sorted by id. */
  list(resourceId: number, paging?: Paging): Promise<Page<StorageRecord>>;
  find(resourceId: number, key: StorageKey): Promise<StorageRecord | undefined>;
  /** @throws DomainError `resource.already_exists` if its path is in use. */
  insert(resourceId: number, uuid: string, storage: StorageFields): Promise<StorageRecord>;
  /** @throws DomainError `resource.already_exists` if another storage uses its path. */
  update(resourceId: number, uuid: string, change: Partial<StorageFields>): Promise<StorageRecord | undefined>;
  delete(resourceId: number, uuid: string): Promise<boolean>;
  /**
   * Records that the volumes of these storages were mounted, or with `hasVolume` false removed. Uuids of other
   * resources are ignored.
   */
  recordVolumes(resourceId: number, uuids: readonly string[], hasVolume?: boolean): Promise<void>;
  /** Uuids of the team's resources that these storages belong to, by uuid of the storage. */
  ownersAmong(uuids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** Identifies a storage. Old clients use its number; names are unique within a container. */
export type StorageKey =
  | { readonly uuid: string }
  | { readonly id: number }
  | { readonly name: string; readonly container: string | null };
