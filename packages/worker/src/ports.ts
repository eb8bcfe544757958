import type { Duplex } from "node:stream";
import type { OriginCredential } from "@berth/core";
import type { MagicSource } from "@berth/core/compose";
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
  LogDrainSender,
  NotificationSender,
  ObjectStorage,
  S3Credentials,
  S3StorageRecord,
  ServerMachine,
  ServerRecord,
  SiteProbe,
  Proxy as SiteProxy,
  SourceFetcher,
  SystemStores,
} from "@berth/core/ports";
import type { ServerCleaner } from "@berth/core/server";

export interface WorkerDeps {
  readonly stores: SystemStores;
  /** Returns the same engine for every call about a server. */
  engineFor(server: ServerRecord): Engine;
  proxyFor(server: ServerRecord): SiteProxy;
  /** Connects to a server's releases; `undefined`: by their addresses. */
  connectorFor?(server: ServerRecord): Connect | undefined;
  readonly source: SourceFetcher;
  /**
   * Credentials for an application's repository; `undefined` for public ones. Requested before each fetch, since a
   * token may be made for one fetch alone.
   * @throws DomainError `source.unauthorized` with a remedy
   */
  credentialsFor(application: ApplicationRecord): Promise<GitCredentials | undefined>;
  /** Makes the values that compose files of applications ask for. Without it none are made. */
  readonly magic?: (MagicSource & { uuid(): string }) | undefined;
  /** Returns a function that removes secrets from consecutive lines. */
  redactor(secrets: Iterable<string>): (line: string) => string;
  readonly clock: Clock;
  /** Id of this worker, new at every start. */
  readonly owner: string;
  /** Usage of the disk with the server's resources; `undefined` when it cannot be read. */
  diskOf(server: ServerRecord): Promise<DiskSpace | undefined>;
  /**
   * The machine below a server's Docker engine; `undefined` for this machine without Docker, and for servers that this
   * instance does not reach.
   */
  machineOf(server: ServerRecord): ServerMachine | undefined;
  /** Whether managers of clusters get the engine of their cluster. Default: they are single servers. */
  readonly drivesClusters?: boolean | undefined;
  /** Whether this instance can work on a server: its engine is local or reachable. */
  ownsServer(server: ServerRecord): boolean;
  /** Called at intervals with all existing servers: connections to others may be closed. */
  keepOnly?(servers: readonly ServerRecord[]): Promise<void>;
  /** The cleaner of a server's engine; `undefined` for engines without images and caches. */
  cleanerFor?(server: ServerRecord): ServerCleaner | undefined;
  /** Storages and tools of backups. Without them backups are disabled. */
  readonly backups?: BackupTools | undefined;
  /** Sends notifications. Without it none are. */
  readonly notifications?: NotificationOptions | undefined;
  /** Sends lines to log drains. Without it none are. */
  readonly sendLogs?: LogDrainSender | undefined;
  /** Looks at certificates. Without it none are watched. */
  readonly sites?: SiteProbe | undefined;
  readonly logger: Logger;
}

export interface NotificationOptions {
  readonly send: NotificationSender;
  /** Address of the dashboard, for links. */
  readonly instanceUrl: string | null;
}

/** @throws DomainError `server.unreachable`, or the system's error for a refused connection. */
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
