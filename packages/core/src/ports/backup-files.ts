/** Size and checksum of a file or object. */
export interface StoredContent {
  readonly sizeBytes: number;
  /** In hexadecimal. */
  readonly sha256: string;
}

/** Reads all chunks of a producer, at its own pace. */
export type Sink = (chunks: AsyncIterable<Uint8Array>) => Promise<void>;

/** Backups on the disk of a control plane. Rejects only with a `DomainError` whose message may be shown. */
export interface BackupFiles {
  /** A unique identifier of this folder among all control planes. */
  folder(): Promise<string>;
  /** Path of a file, for people and for the other calls. */
  pathOf(databaseUuid: string, name: string): string;
  /**
   * Writes a file that only Berth can read. It gets its name after it is completely on the disk; if `produce` fails,
   * there is no file.
   * @param isCompressed Whether the content is compressed already; else it is compressed here.
   */
  write(
    path: string,
    produce: (sink: Sink) => Promise<void>,
    options: { readonly isCompressed: boolean; readonly onBytes?: (written: number) => void },
  ): Promise<StoredContent>;
  /** @throws DomainError `resource.not_found` */
  read(path: string): AsyncIterable<Uint8Array>;
  /** Idempotent. Also removes the remains of an interrupted write. */
  remove(path: string): Promise<void>;
  /** Removes the folder of a database with its content. Idempotent. */
  removeFolder(databaseUuid: string): Promise<void>;
}

/** A bucket. Rejects only with a `DomainError` whose message may be shown. */
export interface ObjectStorage {
  /**
   * Uploads in parts, each of which is retried. Aborting leaves nothing behind.
   * @param options `sizeBytes` of the content: larger content is sent in larger parts.
   */
  put(
    key: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly sizeBytes: number; readonly signal: AbortSignal },
  ): Promise<void>;
  /** @throws DomainError `resource.not_found` */
  get(key: string, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Idempotent. Also removes the remains of an interrupted upload. */
  remove(key: string, signal: AbortSignal): Promise<void>;
}

/** Computes size and checksum in one pass over the content. */
export type Digest = (content: AsyncIterable<Uint8Array>) => Promise<StoredContent>;

/**
 * Passes content on as it is read, and its end only if size and checksum are as recorded; what is `null` is not
 * compared. @throws DomainError `resource.state`
 */
export type VerifyContent = (
  content: AsyncIterable<Uint8Array>,
  recorded: { readonly sizeBytes: number | null; readonly sha256: string | null },
) => AsyncIterable<Uint8Array>;

/** Reverses the compression that `write` applied. */
export type Decompress = (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
