import type { ApplicationSecrets, ApplicationSettings, ApplicationSource } from "../application/application.ts";
import type { RemovalFlags } from "../deploy/lifecycle.ts";
import type { DesiredState, ResourceKind, ResourceRef } from "../resource/resource.ts";
import type { ServerSettings } from "../server/server-settings.ts";
import type { Ability, Role } from "../team/permission.ts";
import type { SignInSettings, SignInSettingsUpdate } from "../team/sign-in-setting.ts";
import type { ApplicationDestinationStore } from "./application-destination.ts";
import type { BackupStore } from "./backup.ts";
import type { CloudTokenStore } from "./cloud-token.ts";
import type { DatabaseStore } from "./database.ts";
import type { DeploymentStore, ReleaseStore } from "./deployment-store.ts";
import type { DestinationStore } from "./destination.ts";
import type { EventStore } from "./event.ts";
import type { GithubAppStore } from "./github-app.ts";
import type { JobStore } from "./job.ts";
import type { KindStore, NewResource, ResourceChange } from "./kind-store.ts";
import type { LogDrainStore } from "./log-drain.ts";
import type { MemberStore } from "./member.ts";
import type { MetricStore } from "./metric.ts";
import type { NotificationStore } from "./notification.ts";
import type { PreviewStore } from "./preview.ts";
import type { PrivateKeyStore } from "./private-key.ts";
import type {
  ApplicationRecord,
  DomainClaim,
  DomainHolder,
  EnvFields,
  EnvironmentRecord,
  EnvRecord,
  GithubSource,
  ListedResource,
  NamedResource,
  Page,
  Paging,
  ProjectRecord,
  ResourceRecord,
  ServerRecord,
  TeamRecord,
  Timestamps,
  TokenRecord,
} from "./records.ts";
import type { RegistryStore } from "./registry.ts";
import type { ResourceSummaryRecord } from "./resource-summary.ts";
import type { RestoreStore } from "./restore.ts";
import type { RunStore } from "./run.ts";
import type { S3StorageStore } from "./s3-storage.ts";
import type { ScheduledTaskStore } from "./scheduled-task.ts";
import type { ServiceStore } from "./service.ts";
import type { SharedVariableStore } from "./shared-variable.ts";
import type { StorageStore } from "./storage.ts";
import type { TagStore } from "./tag.ts";

/**
 * Runs `work`, whose statements may read so many bytes from the database, all together.
 *
 * @throws DomainError `answer.too_large` from the statement that exceeds them
 */
export type LimitReads = <T>(bytes: number, work: () => Promise<T>) => Promise<T>;

/** Every function sees and changes only the scope's team: what is another team's reads as `undefined`. */
export interface Stores {
  /**
   * Commits everything or nothing. Nested calls join the outer transaction. `work` must use only the stores it gets.
   */
  transaction<T>(work: (stores: Stores) => Promise<T>): Promise<T>;
  readonly teams: TeamStore;
  readonly members: MemberStore;
  readonly tokens: TokenStore;
  readonly privateKeys: PrivateKeyStore;
  readonly githubApps: GithubAppStore;
  readonly projects: ProjectStore;
  readonly environments: EnvironmentStore;
  readonly servers: ServerStore;
  readonly destinations: DestinationStore;
  readonly jobs: JobStore;
  readonly resources: ResourceStore;
  readonly applications: ApplicationStore;
  readonly applicationDestinations: ApplicationDestinationStore;
  readonly databases: DatabaseStore;
  readonly services: ServiceStore;
  readonly backups: BackupStore;
  readonly restores: RestoreStore;
  readonly runs: RunStore;
  readonly s3Storages: S3StorageStore;
  readonly registries: RegistryStore;
  readonly domains: DomainStore;
  readonly previews: PreviewStore;
  readonly envs: EnvStore;
  readonly sharedVariables: SharedVariableStore;
  readonly storages: StorageStore;
  readonly metrics: MetricStore;
  readonly scheduledTasks: ScheduledTaskStore;
  readonly tags: TagStore;
  readonly deployments: DeploymentStore;
  readonly releases: ReleaseStore;
  readonly events: EventStore;
  readonly settings: InstanceSettingStore;
  readonly cloudTokens: CloudTokenStore;
  readonly logDrains: LogDrainStore;
  readonly notifications: NotificationStore;
}

export interface TeamStore {
  current(): Promise<TeamRecord | undefined>;
  /** The scope's team; for the root team, all teams of the instance. */
  list(paging?: Paging): Promise<Page<TeamRecord>>;
  find(id: number): Promise<TeamRecord | undefined>;
  /** One that the scope sees. */
  update(
    id: number,
    change: {
      readonly name?: string | undefined;
      readonly description?: string | null | undefined;
      readonly second_factor_required?: boolean | undefined;
    },
  ): Promise<TeamRecord | undefined>;
  /** In a transaction: others that call it wait until this one has ended, so that what it counts stays as it is. */
  alone(): Promise<void>;
  /** @param team Its owner becomes the first member; default: the instance's own user. */
  insert(team: {
    readonly name: string;
    readonly description: string | null;
    readonly owner_id?: number | undefined;
  }): Promise<TeamRecord>;
}

export interface TokenStore {
  list(paging?: Paging): Promise<Page<TokenRecord>>;
  /**
   * @param token Its user must be a member of its team. The root team creates tokens for any team, others for their
   * own.
   */
  insert(token: {
    readonly team_id: number;
    readonly user_id: number;
    readonly name: string;
    readonly abilities: readonly Ability[];
    /** SHA-256 (hex) of the secret part. */
    readonly hash: string;
    readonly expires_at: Date | null;
  }): Promise<TokenRecord>;
  delete(id: number): Promise<boolean>;
  /**
   * It exists, has not expired, does not lack a second factor that its team requires, the API is enabled where it needs
   * that, and its user still has this role.
   */
  isValid(id: number, role: Role): Promise<boolean>;
}

export interface ProjectStore {
  list(paging?: Paging): Promise<Page<ProjectRecord>>;
  find(uuid: string): Promise<ProjectRecord | undefined>;
  insert(project: {
    readonly uuid: string;
    readonly name: string;
    readonly description: string | null;
  }): Promise<ProjectRecord>;
  update(
    uuid: string,
    change: { readonly name?: string | undefined; readonly description?: string | null | undefined },
  ): Promise<ProjectRecord | undefined>;
  /** `false` if it still has resources. */
  deleteIfEmpty(uuid: string): Promise<boolean>;
}

export interface EnvironmentStore {
  list(projectId: number, paging?: Paging): Promise<Page<EnvironmentRecord>>;
  /** By name first, then by uuid. */
  find(projectId: number, nameOrUuid: string): Promise<EnvironmentRecord | undefined>;
  /** In any project. In a transaction, it cannot be deleted before its end. */
  findByUuid(uuid: string): Promise<(EnvironmentRecord & { readonly project_uuid: string }) | undefined>;
  /** @throws DomainError `resource.already_exists` */
  insert(environment: {
    readonly uuid: string;
    readonly project_id: number;
    readonly name: string;
    readonly description: string | null;
  }): Promise<EnvironmentRecord>;
  /** `false` if it still has resources. */
  deleteIfEmpty(id: number): Promise<boolean>;
}

export interface ServerStore {
  list(paging?: Paging): Promise<Page<ServerRecord>>;
  find(uuid: string): Promise<ServerRecord | undefined>;
  findById(id: number): Promise<ServerRecord | undefined>;
  /** Whether any server of the instance, of any team, has this address. */
  isAddressTaken(ip: string): Promise<boolean>;
  /** @throws DomainError `resource.in_use` if another server reached by SSH has the address. */
  insert(server: NewServer): Promise<ServerRecord>;
  /** @throws DomainError `resource.in_use` as `insert` */
  update(
    uuid: string,
    change: Partial<Omit<NewServer, "uuid" | "settings">> & {
      /** Merged into the stored settings, key by key. */
      readonly settings?: Partial<ServerSettings> | undefined;
    },
  ): Promise<ServerRecord | undefined>;
  /**
   * In a transaction: locks the server, waiting for transactions that create something on it. Nothing can be created
   * on it before this one ends.
   */
  findForUpdate(uuid: string): Promise<ServerRecord | undefined>;
  /** Marks it for removal and wakes the workers. `false` if it was marked before. */
  markRemoving(id: number): Promise<boolean>;
  /** Hosts of the resources on it, without duplicates, by name. */
  hosts(id: number): Promise<readonly string[]>;
}

type ServerColumns = Omit<ServerRecord, "id" | "team_id" | "removing_at" | keyof Timestamps>;
/** Fields with a default may be omitted. */
export type NewServer = Pick<
  ServerColumns,
  "uuid" | "name" | "description" | "ip" | "port" | "user" | "engine" | "proxy_type" | "settings"
> &
  Partial<ServerColumns>;

export interface ResourceStore {
  find(ref: ResourceRef): Promise<ResourceRecord | undefined>;
  /** In a transaction: locks the resource until its end, so that other callers wait. */
  findForUpdate(ref: ResourceRef): Promise<ResourceRecord | undefined>;
  list(
    filter: { readonly kind?: ResourceKind; readonly environment_id?: number; readonly server_id?: number },
    paging?: Paging,
  ): Promise<Page<ListedResource>>;
  /** All resources of the team in the order of `list`. */
  listIds(paging?: Paging): Promise<Page<Pick<ListedResource, "id" | "kind">>>;
  /** What lists show of these resources of the team. */
  summaries(ids: readonly number[]): Promise<readonly ResourceSummaryRecord[]>;
  /** @param environmentId One of the team. */
  move(id: number, environmentId: number): Promise<void>;
  /**
   * Changes an application's server and destination. Its releases stay where they are. `false` if the destination's
   * server is being removed.
   * @throws DomainError `resource.already_exists` if its lasting container name is taken on the server
   */
  migrate(id: number, destinationId: number): Promise<boolean>;
  /** Wakes the workers. */
  setDesiredState(id: number, state: DesiredState, reason?: string | null): Promise<void>;
  /**
   * Marks it for removal and wakes the workers. `false` if it was marked before. Waits for transactions that request
   * a deployment of it; afterwards none can be requested.
   */
  markRemoving(id: number, flags: Partial<RemovalFlags>): Promise<boolean>;
  /** Marks all resources of a server that are not marked yet, and returns them. */
  markRemovingOn(serverId: number, flags: Partial<RemovalFlags>): Promise<readonly ResourceRecord[]>;
  /** Those of these uuids that belong to resources of the team. */
  ownAmong(uuids: Iterable<string>): Promise<ReadonlyMap<string, NamedResource>>;
  /** At most `take` resources of a server that are not marked for removal. */
  listStaying(serverId: number, take: number): Promise<readonly NamedResource[]>;
  /** The same for these environments together. */
  listStayingIn(environmentIds: readonly number[], take: number): Promise<readonly NamedResource[]>;
}

export interface NewApplication extends NewResource {
  readonly source: ApplicationSource;
  readonly private_key_id?: number | null | undefined;
  readonly github_app?: Pick<GithubSource, "id" | "repository_id"> | undefined;
  readonly settings: ApplicationSettings;
  readonly secrets: ApplicationSecrets;
}

export interface ApplicationRecordChange extends ResourceChange<ApplicationSettings, ApplicationSecrets> {
  readonly private_key_id?: number | null | undefined;
  /** Changes the repository within the same GitHub app. */
  readonly github_repository_id?: number | undefined;
}

export type ApplicationStore = KindStore<
  ApplicationRecord,
  NewApplication,
  ApplicationRecordChange,
  ApplicationSecrets
>;

/** The holder of URL claims: a resource, one of its previews, or some containers of a service. */
export interface ClaimHolder {
  readonly resourceId: number;
  /** 0: the resource itself. */
  readonly pullRequestId: number;
  /** Limits it to claims of these containers. */
  readonly containerIds?: readonly number[] | undefined;
}

export interface DomainStore {
  /**
   * Holders in the team that have any of these hosts and paths, and holders of other teams that have any of these
   * hosts; `except` is left out.
   * @param except A number means a resource without its previews.
   */
  holders(claims: readonly DomainClaim[], except?: number | ClaimHolder): Promise<readonly DomainHolder[]>;
  /**
   * Replaces the holder's claims and its `fqdn`. With `takeFromOwnTeam`, claims of other holders in the team move
   * here (and leave their `fqdn`). Callers that claim the same host are serialised.
   * @param holder A number means a resource without its previews.
   * @throws DomainError `domain.conflict` if another holder remains.
   */
  claim(
    holder: number | ClaimHolder,
    claims: readonly DomainClaim[],
    options: { readonly takeFromOwnTeam: boolean },
  ): Promise<{ readonly overridden: readonly DomainHolder[] }>;
}

export interface EnvStore {
  /** Normal variables, then preview variables, each sorted by id. */
  list(resourceId: number, paging?: Paging): Promise<Page<EnvRecord>>;
  findByKey(resourceId: number, key: string, isPreview: boolean): Promise<EnvRecord | undefined>;
  /** Variables of several resources with one of these keys, without preview variables. */
  findByKeys(
    resourceIds: readonly number[],
    keys: readonly string[],
  ): Promise<readonly (EnvRecord & { readonly resource_id: number })[]>;
  /** Variables of an environment's resources that reference databases, sorted by id. */
  namingDatabases(
    environmentId: number,
  ): Promise<readonly (EnvRecord & { readonly resource: Pick<ResourceRecord, "id" | "uuid" | "name" | "kind"> })[]>;
  /** @throws DomainError `resource.already_exists` if the key is taken. */
  insert(resourceId: number, uuid: string, env: EnvFields): Promise<EnvRecord>;
  update(resourceId: number, uuid: string, change: Partial<EnvFields>): Promise<EnvRecord | undefined>;
  /** Variables with one of these keys, preview variables included. */
  withKeys(resourceId: number, keys: readonly string[]): Promise<readonly EnvRecord[]>;
  /**
   * Inserts or updates variables by their uuid, in one statement. New ones are created in this order.
   * @throws DomainError `resource.already_exists` if a key is taken.
   */
  saveAll(
    resourceId: number,
    variables: readonly (EnvFields & { readonly uuid: string })[],
  ): Promise<readonly EnvRecord[]>;
  delete(resourceId: number, uuid: string): Promise<boolean>;
}

export interface InstanceSettingStore {
  isApiEnabled(): Promise<boolean>;
  setApiEnabled(isEnabled: boolean): Promise<void>;
  /** `null` while none was set. */
  reportedVersion(): Promise<string | null>;
  setReportedVersion(version: string | null): Promise<void>;
  signIn(): Promise<SignInSettings>;
  /** What is left out stays. */
  setSignIn(change: SignInSettingsUpdate): Promise<void>;
  /** Names the instance for ever, in labels of what it makes elsewhere. @param fresh Kept when there is none yet. */
  instanceId(fresh: string): Promise<string>;
}
