/** A storage mounted into a release. Paths are absolute and normalised. */
export type StorageMount = VolumeMount | FolderMount | FileMount;

interface Mount {
  readonly uuid: string;
  /** Name for people. Engines identify a storage by `uuid`, since names are unique only within a team. */
  readonly name: string;
  readonly mountPath: string;
  /** The release cannot write to it. */
  readonly isReadOnly?: boolean;
}

/** A volume of the resource, which outlives releases, and is removed with the resource only on request. */
export interface VolumeMount extends Mount {
  readonly type: "volume";
  /** It has held data before. A start without it is refused, since an empty volume would look like a loss of data. */
  readonly isRecorded?: boolean;
  /** The storage record, if several storages share a volume and `uuid` names the volume. */
  readonly storageUuid?: string;
}

/** A folder of the server. */
export interface FolderMount extends Mount {
  readonly type: "folder";
  readonly hostPath: string;
}

/** A file that is written with this content before each start. */
export interface FileMount extends Mount {
  readonly type: "file";
  /** May be a secret: only the release's user can read the file on the server. */
  readonly content: string;
  /**
   * Accounts of an image that starts as root: the first one that exists owns the file, and no other can read it.
   * Missing: every process of the release can read it.
   */
  readonly readers?: readonly string[];
}
