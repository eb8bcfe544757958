import type { ApplicationSettings } from "../application/application.ts";
import type { DeploymentLogLine, DeploymentStep, StepName, StepStatus } from "../deploy/deployment.ts";
import type { LiveKey, ServerPart } from "../deploy/live-key.ts";
import type { SiteSettings } from "../deploy/site.ts";
import type { DeploySubject } from "../deploy/subject.ts";
import type { ErrorCode } from "../errors.ts";
import type { ResourceKind } from "../resource/resource.ts";
import type { ClusterRecords } from "../server/cluster.ts";
import type { DiskUsage } from "../server/disk-usage.ts";
import type { ProxyStatus } from "../server/proxy-status.ts";
import type { Reachability } from "../server/reachability.ts";
import type { ValidationResult } from "../server/server-validation.ts";
import type { EventActor } from "../team/event.ts";
import type { Role } from "../team/permission.ts";
import type { AccountStore } from "./account.ts";
import type { ApplicationDestinationRecord } from "./application-destination.ts";
import type { SystemBackupStore } from "./backup.ts";
import type { SystemCertificateProblemStore } from "./certificate-problem.ts";
import type { SystemDatabaseStore } from "./database.ts";
import type { SystemEventStore } from "./event.ts";
import type { IdentityStore } from "./identity-provider.ts";
import type { JobLease, SystemJobStore } from "./job.ts";
import type { ClaimRequest, Lease, RenewableRuns } from "./lease.ts";
import type { SystemLogDrainStore } from "./log-drain.ts";
import type { SystemMetricStore } from "./metric.ts";
import type { SystemNotificationStore } from "./notification.ts";
import type { PasskeyStore } from "./passkey.ts";
import type { SystemPreviewStore } from "./preview.ts";
import type { SystemQueueStore } from "./queue.ts";
import type {
  DeploymentRecord,
  DomainClaim,
  ReleaseRecord,
  ResourceRecord,
  ServerRecord,
  TokenRecord,
} from "./records.ts";
import type { SystemReleaseStore } from "./release-store.ts";
import type { SystemRestoreStore } from "./restore.ts";
import type { SystemScheduleStore } from "./schedule.ts";
import type { SystemScheduledTaskStore } from "./scheduled-task.ts";
import type { SecondFactorStore } from "./second-factor.ts";
import type { SwarmNode } from "./server-machine.ts";
import type { SystemServiceStore } from "./service.ts";
import type { Stores } from "./store.ts";
import type { WakeTopic } from "./wake.ts";
import type { SystemWebhookStore } from "./webhook.ts";

export interface FoundToken extends TokenRecord {
  readonly kind: "api" | "session";
  /** For a session: when its user last entered their password. */
  readonly confirmed_at: Date | null;
  readonly role: Role;
  readonly is_api_enabled: boolean;
  /** A session whose team or instance requires a second factor, which its user lacks. */
  readonly lacks_second_factor: boolean;
}

/** Looks up the token of a request, before there is a scope. One query. */
export interface Authenticator {
  /** @param hash SHA-256 (hex) of the secret part. Expired tokens are not found. */
  findToken(hash: string): Promise<FoundToken | undefined>;
  /** Collected in memory and written in batches: no write per request. */
  touchToken(id: number, at: Date): void;
}

/** The worker's stores, across teams. Every write to a running deployment is fenced by its lease. */
export interface SystemStores {
  transaction<T>(work: (stores: SystemStores) => Promise<T>): Promise<T>;
  /** Stores in the scope of a team, for use cases run by the system. @param actor Who acts, for the events. */
  forTeam(teamId: number, actor?: EventActor): Stores;
  readonly accounts: AccountStore;
  readonly secondFactors: SecondFactorStore;
  readonly passkeys: PasskeyStore;
  readonly identities: IdentityStore;
  readonly events: SystemEventStore;
  readonly deployments: SystemDeploymentStore;
  readonly releases: SystemReleaseStore;
  readonly resources: SystemResourceStore;
  readonly databases: SystemDatabaseStore;
  readonly services: SystemServiceStore;
  readonly schedules: SystemScheduleStore;
  readonly metrics: SystemMetricStore;
  readonly certificateProblems: SystemCertificateProblemStore;
  readonly logDrains: SystemLogDrainStore;
  readonly scheduledTasks: SystemScheduledTaskStore;
  readonly previews: SystemPreviewStore;
  readonly backups: SystemBackupStore;
  readonly restores: SystemRestoreStore;
  readonly leases: LeaseStore;
  readonly servers: SystemServerStore;
  readonly jobs: SystemJobStore;
  readonly queues: SystemQueueStore;
  readonly notifications: SystemNotificationStore;
  readonly webhooks: SystemWebhookStore;
}

export interface SystemServerStore {
  list(): Promise<readonly ServerRecord[]>;
  find(id: number): Promise<ServerRecord | undefined>;
  /**
   * Records the host key of the machine at this address if none is recorded yet, and emits an event. Returns the
   * recorded key; `undefined` if the server was deleted or has another address by now.
   */
  recordHostKey(server: Pick<ServerRecord, "id" | "ip" | "port">, hostKey: string): Promise<string | undefined>;
  /**
   * The servers whose Docker engine has this identity. In a transaction, later ones wait for it, so that what it records
   * is seen by them.
   */
  findByEngine(engineId: string): Promise<readonly ServerRecord[]>;
  /** Records which Docker engine a server has. Idempotent. */
  recordEngine(id: number, engineId: string): Promise<void>;
  /** What is recorded on a server, and about the other managers of its cluster. */
  clusterRecords(id: number, node: SwarmNode | null): Promise<ClusterRecords>;
  /**
   * Deletes a server that is being removed, with its children, if no resource is on it. Ends its jobs and writes its
   * event in the same transaction. `false` if something is still on it.
   */
  deleteIfEmpty(id: number): Promise<boolean>;
  /**
   * Records one more probe, if the server is unchanged since `before`; emits an event when it becomes unreachable or
   * reachable.
   */
  recordProbe(
    before: ServerRecord,
    after: Reachability & { readonly is_substituted: boolean },
    problem: string | null,
  ): Promise<void>;
  /** Emits an event when the usage exceeds the threshold for the first time. */
  recordDiskUsage(id: number, usage: DiskUsage): Promise<void>;
  /** Records the proxy's status and emits an event when it changed. @param problem Unchanged if left out. */
  recordProxyStatus(id: number, status: ProxyStatus, problem?: string | null): Promise<void>;
  /**
   * Records the result of a validation and ends its job in one transaction. `false` if the lease is lost. The engine
   * stays as it is if the server got a resource, or its cluster another such server, in the meantime.
   */
  finishValidation(lease: JobLease, serverId: number, found: ValidationResult): Promise<boolean>;
}

export interface StepChange {
  readonly status: StepStatus;
  readonly output?: Readonly<Record<string, unknown>>;
  readonly error?: string;
  /** Code of the error; ignored without `error`. */
  readonly error_code?: ErrorCode | undefined;
}

export interface SavedWithStep {
  /** The next step, which begins at once. */
  readonly begins?: StepName | undefined;
  /** Lines of the deployment's log that are not stored yet. */
  readonly lines?: readonly Omit<DeploymentLogLine, "seq">[];
}

/** A deployment whose lease a worker holds. */
export interface ClaimedDeployment {
  readonly lease: Lease;
  readonly deployment: DeploymentRecord;
  /** Kind of its resource. */
  readonly kind: ResourceKind;
}

export interface SystemDeploymentStore extends RenewableRuns {
  /**
   * Claims one deployment that may run now: queued, no other one of the same resource and pull request in progress,
   * below the server's `concurrent_builds`; the oldest of the team with the fewest running. Exactly one worker gets
   * it. It becomes `in_progress` with a lease, and all of its steps `pending`.
   *
   * @param serverIds Only deployments to these servers; to any server if left out.
   */
  claimNext(request: Omit<ClaimRequest, "at">, serverIds?: readonly number[]): Promise<ClaimedDeployment | undefined>;
  /** Claims a deployment in progress whose lease expired, to one of these servers or any. */
  claimAbandoned(
    owner: string,
    leaseSeconds: number,
    serverIds?: readonly number[],
  ): Promise<ClaimedDeployment | undefined>;
  find(id: number): Promise<DeploymentRecord | undefined>;
  /** Queued and running deployments to a server. */
  listActive(serverId: number): Promise<readonly DeploymentRecord[]>;
  /** Queued and running deployments of a resource and its previews, to all servers. */
  listActiveOf(resourceId: number): Promise<readonly DeploymentRecord[]>;
  /** Queued and running deployments that are built on one of these servers. */
  listBuilding(serverIds: readonly number[]): Promise<readonly DeploymentRecord[]>;
  steps(deploymentId: number): Promise<readonly DeploymentStep[]>;
  /**
   * Fenced. `false` if the lease is lost. The step's start is when it first runs, its end when its status is no
   * longer `pending` or `running`. Fields left out of `step` are unchanged.
   *
   * @param also Saved in the same transaction.
   */
  saveStep(lease: Lease, name: StepName, step: StepChange, also?: SavedWithStep): Promise<boolean>;
  /**
   * Saves the step `retire` of a finished deployment. Not fenced by its lease, which has ended: the caller has the
   * lease of the server.
   * @param lines Appended to the log in the same transaction.
   */
  saveRetirement(
    deploymentId: number,
    step: StepChange,
    lines?: readonly Omit<DeploymentLogLine, "seq">[],
  ): Promise<void>;
  saveCommit(lease: Lease, commit: string, message: string | null): Promise<boolean>;
  /** Fenced. Records the server of the build; `null`: the target server. `false` if the lease is lost. */
  saveBuildServer(lease: Lease, serverId: number | null): Promise<boolean>;
  /**
   * Fenced. Reserves one of the server's places for builds (`concurrent_builds`), and records the deployment as built
   * there. `full`: nothing is changed. An instant deployment needs no place. The place is free again when the step
   * `build`, or the deployment, has ended. `lost`: the lease is lost.
   */
  takeBuildServer(lease: Lease, serverId: number): Promise<"taken" | "full" | "lost">;
  /** Appends lines with the next `seq`s and notifies followers. Not fenced, so that lines of an undo are kept too. */
  appendLog(deploymentId: number, lines: readonly Omit<DeploymentLogLine, "seq">[]): Promise<void>;
  /**
   * Fenced, and only along a legal transition. Writes its event in the same transaction. Returns `false` without a
   * change if the lease is lost or the status is terminal.
   */
  finish(lease: Lease, status: "finished" | "failed" | "cancelled-by-user", error: string | null): Promise<boolean>;
  /**
   * Resolves with the topics that workers were woken for since the last call, at the latest when `signal` fires or after
   * `timeoutSeconds`.
   */
  wakeUp(signal: AbortSignal, timeoutSeconds: number): Promise<readonly WakeTopic[]>;
}

/** With its own URL claims, without those of its previews. */
export interface RoutedResource extends ResourceRecord {
  readonly domains: readonly DomainClaim[];
}

export interface InspectedResource extends RoutedResource {
  /** Of an application on several servers, otherwise empty. */
  readonly destinations: readonly ApplicationDestinationRecord[];
  /** It has no release and no preview, and all its records say stopped, so only its sites can need work. */
  readonly is_resting: boolean;
  readonly has_previews: boolean;
  /** Sorted by id. */
  readonly releases: readonly InspectedRelease[];
  /** Settings of its sites; `null` for kinds without them. */
  readonly site_settings: SiteSettings | null;
}

/** What the plan of a server needs of a release. */
export type InspectedRelease = Pick<
  ReleaseRecord,
  | "deployment_id"
  | "deployment_uuid"
  | "server_id"
  | "pull_request_id"
  | "role"
  | "built_by"
  | "upstream"
  | "replaced_by_deployment_id"
>;

/** What the plan of a server needs of a deployment that waits or runs. */
export type ActiveDeployment = Pick<
  DeploymentRecord,
  "id" | "uuid" | "server_id" | "resource_id" | "pull_request_id" | "status"
>;

/** Changed resources of servers. */
export interface ResourceChanges {
  /** Position to continue the next reading from. */
  readonly position: string;
  /** Deployments of these servers that wait or run, seen in the same snapshot as the changes. Sorted by id. */
  readonly active: readonly ActiveDeployment[];
  /** Deployment uuids that identify the temporary databases of running drills, seen in the same snapshot. */
  readonly drills: readonly string[];
  /** `key` identifies the change: one that was read before may be answered once more. */
  readonly changes: readonly { readonly server_id: number; readonly resource_id: number; readonly key: string }[];
}

/** A resource, with the URLs and the live release on one server of itself or of one of its previews, of one snapshot. */
export interface Routing {
  readonly subject: DeploySubject;
  /** `null`: the preview was removed or is being removed. */
  readonly domains: readonly DomainClaim[] | null;
  readonly live: Pick<ReleaseRecord, "deployment_uuid" | "upstream"> | null;
  /** Another server has a live release of it, which answers until there is one here. */
  readonly is_live_elsewhere: boolean;
}

export interface SystemResourceStore {
  find(id: number): Promise<ResourceRecord | undefined>;
  /**
   * The resource with the fields of its kind.
   * @param kind Its kind as far as the caller knows, which saves a statement.
   */
  subject(id: number, kind?: ResourceKind): Promise<DeploySubject | undefined>;
  /** Like `subject` for several resources of one kind, by id. Those that do not exist are missing. */
  subjects(kind: ResourceKind, ids: readonly number[]): Promise<ReadonlyMap<number, DeploySubject>>;
  /**
   * Like `subject`, as this server runs it, with what the route of the resource, or of one of its previews, on that server
   * is made of besides it.
   */
  routing(key: LiveKey, kind?: ResourceKind): Promise<Routing | undefined>;
  /**
   * Of a resource on several servers, it sets the status on this one, and combines those of all.
   * @param seen.problem Why it cannot run. Default: nothing is known.
   * @param seen.replaces Nothing is set if its status is another one by now. Default: any status is replaced.
   */
  setStatus(
    part: ServerPart,
    status: string,
    seen?: { readonly problem?: string | null; readonly replaces?: string },
  ): Promise<void>;
  /** Of a resource on several servers, likewise; the highest count is the resource's. */
  setRestarts(
    part: ServerPart,
    restarts: { readonly restart_count: number; readonly last_restart_at: Date | null },
  ): Promise<void>;
  /**
   * Sets why an application lacks containers on a server; `null`: it lacks none. Returns whether there was no problem
   * before.
   */
  setScaleProblem(part: ServerPart, problem: string | null): Promise<boolean>;
  /** Stops an application on one of its several servers alone. `false`: it is on one server. */
  giveUp(part: ServerPart): Promise<boolean>;
  /** Those of these uuids that belong or belonged to a resource of this instance. */
  everRecorded(uuids: Iterable<string>): Promise<ReadonlySet<string>>;
  /** Those of these uuids that belong to a resource of this instance now. */
  existing(uuids: Iterable<string>): Promise<ReadonlySet<string>>;
  /**
   * Deletes records of resources that were removed longer ago. What is still on a server of them is then left alone.
   * @returns Their number.
   */
  pruneRemoved(keptDays: number): Promise<number>;
  listRemoving(): Promise<readonly ResourceRecord[]>;
  /** Whether a deployment of it has ever begun, or it has a release, so that an engine may have objects of it. */
  hasRun(id: number): Promise<boolean>;
  /** All resources of a server, for its plan and its proxy's table. */
  listByServer(serverId: number): Promise<readonly RoutedResource[]>;
  /**
   * Resources of these servers that changed, or whose children changed, since a position; deleted ones too. Without a
   * position, all of the server. A server's are those that are recorded on it and those that left a release on it.
   */
  changes(since: ReadonlyMap<number, string | undefined>): Promise<ResourceChanges>;
  /** Deletes changes older than this. */
  pruneChanges(keptSeconds: number): Promise<number>;
  /** Those of these resources that exist. */
  inspect(ids: readonly number[]): Promise<readonly InspectedResource[]>;
  /** Those of these resources that are applications whose number of containers Berth chooses, and should run. */
  autoscaled(ids: readonly number[]): Promise<readonly AutoscaledApplication[]>;
  /** Deletes the row and its children, ends the job of its removal, and writes its event. */
  delete(id: number): Promise<void>;
}

export interface AutoscaledApplication extends Pick<ResourceRecord, "id" | "team_id" | "uuid" | "name"> {
  readonly settings: ApplicationSettings;
}

/** Leases for work that only one control plane may do, such as `server:3`. Names never come from users. */
export interface LeaseStore {
  /** Whether `owner` has the lease now: it was free, expired, or owned by it before. */
  acquire(name: string, owner: string, seconds: number): Promise<boolean>;
  /** Like `acquire`, for many leases. Returns the names that `owner` has now. */
  acquireAll(names: readonly string[], owner: string, seconds: number): Promise<ReadonlySet<string>>;
  release(name: string, owner: string): Promise<void>;
}
