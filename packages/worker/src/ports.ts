import type { Duplex } from "node:stream";
import type { OriginCredential } from "@berth/core";
import type { Upstream } from "@berth/core/deploy";
import type {
  ApplicationRecord,
  BackupFiles,
  Clock,
  Decompress,
  Digest,
  DiskSpace,
  Engine,
  GitCredentials,
  ObjectStorage,
  S3Credentials,
  S3StorageRecord,
  ServerMachine,
  ServerRecord,
  Proxy as SiteProxy,
  SourceFetcher,
  SystemStores,
} from "@berth/core/ports";
import type { ServerCleaner } from "@berth/core/server";

export interface WorkerDeps {
  readonly stores: SystemStores;
  /** The same engine for every call about the same server. */
  engineFor(server: ServerRecord): Engine;
  proxyFor(server: ServerRecord): SiteProxy;
  /** How a server's releases are reached from here; `undefined`: by their address. */
  connectorFor?(server: ServerRecord): Connect | undefined;
  readonly source: SourceFetcher;
  /**
   * With what an application's repository is fetched; `undefined` for one that anybody may read. Asked before each
   * fetch, since a token may be made for one fetch alone.
   * @throws DomainError `source.unauthorized` with what to do, when they cannot be had.
   */
  credentialsFor(application: ApplicationRecord): Promise<GitCredentials | undefined>;
  /** Makes a function that takes one line after the other and answers it without the secrets. */
  redactor(secrets: Iterable<string>): (line: string) => string;
  readonly clock: Clock;
  /** Names this worker among all that ever ran: a new one for every start. */
  readonly owner: string;
  /** Usage of the disk that holds the server's resources; `undefined` when it cannot be read. */
  diskOf(server: ServerRecord): Promise<DiskSpace | undefined>;
  /**
   * What is below the engine of a server with containers; `undefined` for this machine without them and for what is
   * out of this instance's reach.
   */
  machineOf(server: ServerRecord): ServerMachine | undefined;
  /** Whether this instance can work on a server: its engine is here or within reach. */
  ownsServer(server: ServerRecord): boolean;
  /** Told which servers there are now, now and then: what is kept for others may go. */
  keepOnly?(servers: readonly ServerRecord[]): Promise<void>;
  /** Looks after what lies on a server's engine; `undefined`: it keeps nothing that is cleaned up. */
  cleanerFor?(server: ServerRecord): ServerCleaner | undefined;
  /** Storages and tools of backups. Without them no backups run. */
  readonly backups?: BackupTools | undefined;
  readonly logger: Logger;
}

/** @throws DomainError `server.unreachable`, or what the system says of a refused connection. */
export type Connect = (address: Upstream, signal: AbortSignal) => Promise<Duplex>;

export interface Logger {
  debug(message: string, details?: Readonly<Record<string, unknown>>): void;
  info(message: string, details?: Readonly<Record<string, unknown>>): void;
  warn(message: string, details?: Readonly<Record<string, unknown>>): void;
  error(message: string, details?: Readonly<Record<string, unknown>>): void;
}

/** Storages and tools of backups. */
export interface BackupTools {
  readonly files: BackupFiles;
  objectStorage(storage: S3StorageRecord, credentials: OriginCredential<S3Credentials>): ObjectStorage;
  readonly digest: Digest;
  readonly decompress: Decompress;
}
