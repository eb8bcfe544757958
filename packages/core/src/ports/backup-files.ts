/** Size and checksum of a file or object. */
export interface StoredContent {
  readonly sizeBytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Reads what a producer gives, as fast as it can take it. */
export type Sink = (chunks: AsyncIterable<Uint8Array>) => Promise<void>;

/** Backups on the disk of a control plane. Rejects only with a `DomainError` whose message may be shown. */
export interface BackupFiles {
  /** Names this folder among those of all control planes that ever were. */
  folder(): Promise<string>;
  /** Where a file is, for people and for the other calls. */
  pathOf(databaseUuid: string, name: string): string;
  /**
   * Writes a file that nobody else reads. It has its name only when all of it is on the disk; when `produce` fails,
   * there is none.
   * @param isCompressed What comes is compressed already, or is compressed here.
   */
  write(
    path: string,
    produce: (sink: Sink) => Promise<void>,
    options: { readonly isCompressed: boolean; readonly onBytes?: (written: number) => void },
  ): Promise<StoredContent>;
  /** @throws DomainError `resource.not_found` */
  read(path: string): AsyncIterable<Uint8Array>;
  /** Idempotent; with what is left of a write that did not end. */
  remove(path: string): Promise<void>;
  /** Removes the folder of a database with its content. Idempotent. */
  removeFolder(databaseUuid: string): Promise<void>;
}

/** A bucket. Rejects only with a `DomainError` whose message may be shown. */
export interface ObjectStorage {
  /**
   * In pieces, each of which is tried again when it fails. Aborting leaves nothing behind.
   * @param options `sizeBytes` is that of the content: what is larger goes in larger pieces.
   */
  put(
    key: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly sizeBytes: number; readonly signal: AbortSignal },
  ): Promise<void>;
  /** @throws DomainError `resource.not_found` */
  get(key: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Idempotent; with what is left of an upload that did not end. */
  remove(key: string, signal: AbortSignal): Promise<void>;
}

/** Computes size and checksum while the content is read once. */
export type Digest = (content: AsyncIterable<Uint8Array>) => Promise<StoredContent>;

/** Undoes what `write` did to what was not compressed. */
export type Decompress = (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
