import type { Page, Paging, Timestamps } from "./records.ts";

export interface StorageRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly type: "persistent" | "file";
  /** Name of a persistent storage; `null` for a file. */
  readonly name: string | null;
  /** Absolute, normalised. Once in a resource, or in a container of it. */
  readonly mount_path: string;
  /** Folder of the server that a persistent storage mounts instead of a volume. */
  readonly host_path: string | null;
  /** The server's folder for a directory; where the file is kept for a file. */
  readonly fs_path: string | null;
  /** Content of a file, decrypted. */
  readonly content: string | null;
  readonly is_directory: boolean;
  readonly is_preview_suffix_enabled: boolean;
  /** Name of the container that it is mounted into, where the resource has several. */
  readonly container: string | null;
  /** Made from the resource's own definition (a compose file, a service's, a database engine's data), which alone changes it. */
  readonly is_managed: boolean;
  /** Mounted so that the container cannot write to it. */
  readonly is_read_only: boolean;
  /** Its volume was mounted once: it holds data. */
  readonly has_volume: boolean;
}
export type StorageFields = Omit<StorageRecord, "id" | "uuid" | "has_volume" | keyof Timestamps>;

export interface StorageStore {
  /** Persistent ones, then files, each by id. */
  list(resourceId: number, paging?: Paging): Promise<Page<StorageRecord>>;
  find(resourceId: number, key: StorageKey): Promise<StorageRecord | undefined>;
  /** @throws DomainError `resource.already_exists` when something is mounted at its path. */
  insert(resourceId: number, uuid: string, storage: StorageFields): Promise<StorageRecord>;
  /** @throws DomainError `resource.already_exists` when something else is mounted at its path. */
  update(resourceId: number, uuid: string, change: Partial<StorageFields>): Promise<StorageRecord | undefined>;
  delete(resourceId: number, uuid: string): Promise<boolean>;
  /**
   * Their volumes have been mounted, or with `hasVolume` false removed; what is not a storage of the resource is left
   * out.
   */
  recordVolumes(resourceId: number, uuids: readonly string[], hasVolume?: boolean): Promise<void>;
}

/** Old clients know a storage by its number. A name is chosen once in a container. */
export type StorageKey =
  | { readonly uuid: string }
  | { readonly id: number }
  | { readonly name: string; readonly container: string | null };
