/** A storage mounted into a release. Paths are absolute and normalised. */
export type StorageMount = VolumeMount | FolderMount | FileMount;

interface Mount {
  readonly uuid: string;
  /** For people. What an engine keeps is named by `uuid`: another team's storage may have the same name. */
  readonly name: string;
  readonly mountPath: string;
  /** The release only reads it. */
  readonly isReadOnly?: boolean;
}

/** A folder of its own that outlives the release, and the resource unless its storages are deleted with it. */
export interface VolumeMount extends Mount {
  readonly type: "volume";
  /** It has held data before: a start without it is refused, since an empty one would look like a loss. */
  readonly isRecorded?: boolean;
  /** The storage that it is recorded with, where several share one volume and `uuid` names that. */
  readonly storageUuid?: string;
}

/** A folder of the server. */
export interface FolderMount extends Mount {
  readonly type: "folder";
  readonly hostPath: string;
}

/** A file with this content whenever the release starts. */
export interface FileMount extends Mount {
  readonly type: "file";
  /** May be a secret: kept only in files that nobody but the release's user reads. */
  readonly content: string;
  /**
   * Accounts of an image that begins as root, of which the first that it has is the only one to read the file. Missing:
   * every process of the release reads it.
   */
  readonly readers?: readonly string[];
}
