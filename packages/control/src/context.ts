import type { OriginCredential } from "@berth/core";
import { DomainError, invalid, notFound } from "@berth/core";
import { onServer } from "@berth/core/application";
import type { MagicSource } from "@berth/core/compose";
import type {
  AddressBook,
  BackupFiles,
  CertificateIssuer,
  Clock,
  CloudProviders,
  ClusterMembership,
  Engine,
  GitHost,
  IdentityProviders,
  Ids,
  KeyReader,
  Mailer,
  NotificationSender,
  ObjectStorage,
  PasskeyVerifier,
  PasswordHasher,
  ResourceRecord,
  S3Credentials,
  S3StorageRecord,
  ServerMachine,
  ServerRecord,
  SiteProbe,
  SourceFetcher,
  Stores,
  SystemStores,
  VerifyContent,
} from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceRef } from "@berth/core/resource";
import type { CleanupOperation } from "@berth/core/server";
import type { TemplateRecord } from "@berth/core/service";
import type { Scope } from "@berth/core/team";
import type { SignInTries } from "./sign-in-tries.ts";

/** The part of an engine that use cases call; the worker does the rest. */
export type ControlEngine = Pick<Engine, "kind" | "capabilities" | "cluster" | "inspect" | "logs"> & {
  readonly containers?: Pick<NonNullable<Engine["containers"]>, "command" | "terminal"> | undefined;
};

export interface ControlDeps {
  readonly stores: (scope: Scope) => Stores;
  readonly source: Pick<SourceFetcher, "saveUpload" | "defaultBranch">;
  /** @throws DomainError `engine.unreachable` */
  readonly engineFor: (server: ServerRecord) => ControlEngine | Promise<ControlEngine>;
  /** The machine of a server; `undefined` for the one that Berth runs on. Missing where no terminals are offered. */
  readonly machineFor?: (server: ServerRecord) => Pick<ServerMachine, "terminal"> | undefined;
  /** Membership of a server in a cluster; `undefined` for one without containers. */
  readonly membershipFor?: (server: ServerRecord) => ClusterMembership | undefined;
  /** Plans a cleanup of a server now; `undefined` if its engine has nothing to clean up. */
  readonly planCleanup?: (server: ServerRecord) => Promise<readonly CleanupOperation[] | undefined>;
  /** Whether a cleanup could remove anything from a server, as far as known without asking it. */
  readonly hasCleanup?: (server: ServerRecord) => boolean;
  /** Adds the port of the server's proxy to a URL, if it is not the default one. */
  readonly publicUrl: (url: string, serverId: number) => string;
  /** Why nothing answers at a URL on the server, and what to do. */
  readonly urlProblem: (url: string, serverId: number) => string | undefined;
  /** Whether the server's proxy can answer `https:`. */
  readonly servesHttps: (server: ServerRecord) => boolean;
  /** The instance's own URL, which no resource can take; `null` when it has none. */
  readonly instanceUrl: string | null;
  /** Answer of `GET /version`. */
  readonly reportedVersion: string;
  /** Limit of servers per team; `null`: unlimited. */
  readonly teamServersMax: number | null;
  readonly keys: KeyReader;
  readonly addresses: AddressBook;
  readonly sites: SiteProbe;
  readonly gitHost: Pick<GitHost, "repositories" | "repository" | "branches" | "mayCall">;
  readonly cloud: CloudProviders;
  readonly objectStorage: (storage: S3StorageRecord, credentials: OriginCredential<S3Credentials>) => ObjectStorage;
  /** Backups on the disk of this control plane. */
  readonly backupFiles: Pick<BackupFiles, "folder" | "read">;
  readonly verifyContent: VerifyContent;
  /** Pauses between two attempts. */
  readonly wait: (seconds: number) => Promise<void>;
  /** Issues TLS certificates for databases. */
  readonly certificates: CertificateIssuer;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Random values for the variables that a service generates. */
  readonly magic: Omit<MagicSource, "secret">;
  /** The one-click services, by type. */
  readonly templates: readonly TemplateRecord[];
  /** Users and their sessions, which are independent of teams. */
  readonly system: SystemStores;
  /** Absent without a mail server. */
  readonly mailer?: Mailer | undefined;
  readonly sendNotification: NotificationSender;
  readonly passwords: PasswordHasher;
  readonly tries: SignInTries;
  readonly providers: IdentityProviders;
  readonly passkeyVerifier: PasskeyVerifier;
  /** SHA-256, hexadecimal. */
  readonly hashToken: (secret: string) => string;
}

/** Context that the use cases of one request share. */
export interface UseCaseContext extends Omit<ControlDeps, "stores"> {
  readonly scope: Scope;
  readonly stores: Stores;
}

/** @throws DomainError `resource.not_found` that names the kind */
export async function findResource(stores: Stores, ref: ResourceRef): Promise<ResourceRecord> {
  const resource = await stores.resources.find(ref);
  if (resource === undefined) throw notFound(RESOURCE_KINDS[ref.kind].title);
  return resource;
}

/** The engine of a resource's server. @throws DomainError `resource.not_found`, `engine.unreachable` */
export async function engineOf(
  { stores, engineFor }: Pick<UseCaseContext, "stores" | "engineFor">,
  { server_id }: Pick<ResourceRecord, "server_id">,
): Promise<ControlEngine> {
  const server = await stores.servers.findById(server_id);
  if (server === undefined) throw notFound("Server");
  return engineFor(server);
}

/**
 * A resource as one of its servers runs it. Default: the primary one.
 * @throws DomainError `resource.not_found` for a server that it is not deployed to
 */
export async function resourceOn(
  stores: Stores,
  resource: ResourceRecord,
  serverUuid: string | undefined,
): Promise<ResourceRecord> {
  if (serverUuid === undefined) return resource;
  const destinations = await stores.applicationDestinations.list(resource.id);
  const here = destinations.find(({ server_uuid }) => server_uuid === serverUuid);
  if (here !== undefined) return onServer(resource, here);
  if ((await stores.servers.find(serverUuid))?.id === resource.server_id) return resource;
  const sentence = `${RESOURCE_KINDS[resource.kind].title} ${resource.name} is not deployed to this server.`;
  throw new DomainError("resource.not_found", sentence);
}

/**
 * Locks the resource, so that concurrent changes of its parts are serialised.
 * @throws DomainError `resource.not_found` that names the kind
 */
export async function findResourceForUpdate(tx: Stores, ref: ResourceRef): Promise<ResourceRecord> {
  const resource = await tx.resources.findForUpdate(ref);
  if (resource === undefined) throw notFound(RESOURCE_KINDS[ref.kind].title);
  return resource;
}

/** @throws DomainError `request.invalid` if a resource has reached the limit of something. */
export function requireRoom({ total }: { readonly total: number }, max: number, things: string): void {
  if (total >= max) throw invalid({ _: [`Limit reached: at most ${max} ${things} per resource.`] });
}
