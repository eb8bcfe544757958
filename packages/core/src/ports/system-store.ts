import type { Artifact } from "../deploy/artifact.ts";
import type { DeploymentLogLine, DeploymentStep, StepName, StepStatus } from "../deploy/deployment.ts";
import type { Upstream } from "../deploy/release.ts";
import type { SiteSettings } from "../deploy/site.ts";
import type { DeploySubject } from "../deploy/subject.ts";
import type { DiskUsage } from "../server/disk-usage.ts";
import type { ProxyStatus } from "../server/proxy-status.ts";
import type { Reachability } from "../server/reachability.ts";
import type { ValidationResult } from "../server/server-validation.ts";
import type { EventActor } from "../team/event.ts";
import type { Role } from "../team/permission.ts";
import type { AccountStore } from "./account.ts";
import type { SystemBackupStore } from "./backup.ts";
import type { SystemDatabaseStore } from "./database.ts";
import type { IdentityStore } from "./identity-provider.ts";
import type { JobLease, SystemJobStore } from "./job.ts";
import type { ClaimRequest, RenewableRuns } from "./lease.ts";
import type { SystemMetricStore } from "./metric.ts";
import type { SystemPreviewStore } from "./preview.ts";
import type { SystemQueueStore } from "./queue.ts";
import type {
  DeploymentRecord,
  DomainClaim,
  ReleaseRecord,
  ReleaseRole,
  ResourceRecord,
  ServerRecord,
  TokenRecord,
} from "./records.ts";
import type { SystemRestoreStore } from "./restore.ts";
import type { SystemScheduleStore } from "./schedule.ts";
import type { SystemScheduledTaskStore } from "./scheduled-task.ts";
import type { SecondFactorStore } from "./second-factor.ts";
import type { SystemServiceStore } from "./service.ts";
import type { Stores, SystemEventStore } from "./store.ts";
import type { SystemWebhookStore } from "./webhook.ts";

export interface FoundToken extends TokenRecord {
  readonly kind: "api" | "session";
  /** Of a session: when its user last gave their password. */
  readonly confirmed_at: Date | null;
  readonly role: Role;
  readonly is_api_enabled: boolean;
  /** A session whose team or instance requires a second factor, which its user lacks. */
  readonly lacks_second_factor: boolean;
}

/** Token lookup of a request, before there is a scope. One query. */
export interface Authenticator {
  /** @param hash SHA-256 (hex) of the secret part. Expired ones read as unknown. */
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
  readonly identities: IdentityStore;
  readonly events: SystemEventStore;
  readonly deployments: SystemDeploymentStore;
  readonly releases: SystemReleaseStore;
  readonly resources: SystemResourceStore;
  readonly databases: SystemDatabaseStore;
  readonly services: SystemServiceStore;
  readonly schedules: SystemScheduleStore;
  readonly metrics: SystemMetricStore;
  readonly scheduledTasks: SystemScheduledTaskStore;
  readonly previews: SystemPreviewStore;
  readonly backups: SystemBackupStore;
  readonly restores: SystemRestoreStore;
  readonly leases: LeaseStore;
  readonly servers: SystemServerStore;
  readonly jobs: SystemJobStore;
  readonly queues: SystemQueueStore;
  readonly webhooks: SystemWebhookStore;
}

export interface SystemServerStore {
  list(): Promise<readonly ServerRecord[]>;
  find(id: number): Promise<ServerRecord | undefined>;
  /**
   * Records the host key that a machine showed at this address, where none is recorded yet, and emits an event. Answers
   * the one that holds; `undefined` when the server is gone or is at another address by now.
   */
  recordHostKey(server: Pick<ServerRecord, "id" | "ip" | "port">, hostKey: string): Promise<string | undefined>;
  /**
   * Of one that is being removed: the row with its children, when no resource is on it any more. Ends its jobs and
   * writes its event in the same transaction. `false` when something is still on it.
   */
  deleteIfEmpty(id: number): Promise<boolean>;
  /** One more probe, where the server is as it was before it; tells when it is gone or back. */
  recordProbe(before: ServerRecord, after: Reachability, problem: string | null): Promise<void>;
  /** Tells when it came to be too high. */
  recordDiskUsage(id: number, usage: DiskUsage): Promise<void>;
  /** Records the proxy's status and emits an event when it changed. @param problem Kept when omitted. */
  recordProxyStatus(id: number, status: ProxyStatus, problem?: string | null): Promise<void>;
  /** Records the findings of a validation and ends its job in one transaction. `false` when the lease is lost. */
  finishValidation(lease: JobLease, serverId: number, found: ValidationResult): Promise<boolean>;
}

export interface StepChange {
  readonly status: StepStatus;
  readonly output?: Readonly<Record<string, unknown>> | null;
  readonly error?: string | null;
}

/** Names a worker's hold of a deployment. Writes with an older `attempt` change nothing and are told so. */
export interface Lease {
  readonly deployment_id: number;
  readonly owner: string;
  readonly attempt: number;
}

export interface SystemDeploymentStore extends RenewableRuns {
  /**
   * Takes one deployment that may run now: queued, none of the same resource and pull request in progress, the
   * server's `concurrent_builds` not reached; of the team that has the fewest running the oldest, exactly once under
   * any number of workers. It becomes `in_progress` with a lease.
   *
   * @param serverIds Only deployments to these servers; of any server when left out.
   */
  claimNext(
    request: Omit<ClaimRequest, "at">,
    serverIds?: readonly number[],
  ): Promise<{ readonly lease: Lease; readonly deployment: DeploymentRecord } | undefined>;
  /** Takes over a deployment in progress whose lease ran out, of these servers or of any. */
  claimAbandoned(
    owner: string,
    leaseSeconds: number,
    serverIds?: readonly number[],
  ): Promise<{ readonly lease: Lease; readonly deployment: DeploymentRecord } | undefined>;
  find(id: number): Promise<DeploymentRecord | undefined>;
  /** Queued and in progress, of a server. */
  listActive(serverId: number): Promise<readonly DeploymentRecord[]>;
  /** As `listActive`, of several servers. */
  listActiveOn(serverIds: readonly number[]): Promise<readonly DeploymentRecord[]>;
  /** Queued and in progress, of those that are built on one of these servers. */
  listBuilding(serverIds: readonly number[]): Promise<readonly DeploymentRecord[]>;
  steps(deploymentId: number): Promise<readonly DeploymentStep[]>;
  /** All of them are `pending` from here on, at once; those that have a row keep it. Fenced. */
  planSteps(lease: Lease, names: readonly StepName[]): Promise<boolean>;
  /**
   * Fenced. `false` when the lease is lost. The time it first runs is its start, the time it gets a status that is
   * neither `pending` nor `running` its end. What is left out of `step` keeps its value.
   */
  saveStep(lease: Lease, name: StepName, step: StepChange): Promise<boolean>;
  /**
   * The step `retire` of a deployment that is finished. Not fenced: it holds no lease any more, and who retires holds
   * the server's.
   */
  saveRetirement(deploymentId: number, step: StepChange): Promise<void>;
  saveCommit(lease: Lease, commit: string, message: string | null): Promise<boolean>;
  /** Fenced. Where it is built; `null`: on the server that it goes to. `false` when the lease is lost. */
  saveBuildServer(lease: Lease, serverId: number | null): Promise<boolean>;
  /**
   * Fenced. Takes one of the places for builds that the server has by its `concurrent_builds`, and records the
   * deployment as built there. `full`: nothing is changed. An instant deployment needs no place. The place is free
   * again when the step `build`, or the deployment, has ended. `lost` as for others.
   */
  takeBuildServer(lease: Lease, serverId: number): Promise<"taken" | "full" | "lost">;
  /** Appends with the next `seq`s and tells followers. Not fenced: an undo's lines count too. */
  appendLog(deploymentId: number, lines: readonly Omit<DeploymentLogLine, "seq">[]): Promise<void>;
  /**
   * Fenced, and only along a legal transition. Writes its event in the same transaction. Answers `false`, changing
   * nothing, when the lease is lost or the status is terminal.
   */
  finish(lease: Lease, status: "finished" | "failed" | "cancelled-by-user", error: string | null): Promise<boolean>;
  /**
   * Resolves when a deployment was queued, cancelled or ended, when a resource's desired state changed or its removal
   * was asked for, on `signal`, or after `timeoutSeconds`.
   */
  wakeUp(signal: AbortSignal, timeoutSeconds: number): Promise<void>;
}

export interface SystemReleaseStore {
  /** Fenced. Inserts or replaces the deployment's candidate. */
  saveCandidate(
    lease: Lease,
    release: { readonly artifact: Artifact; readonly built_by: string; readonly upstream: Upstream | null },
  ): Promise<boolean>;
  /**
   * Fenced. The candidate becomes `live`, the previous live one `retiring` and replaced by it, in one transaction;
   * answers the previous. Repeating it changes nothing and answers the same.
   */
  promote(lease: Lease): Promise<{ readonly previous: ReleaseRecord | undefined } | undefined>;
  find(deploymentId: number): Promise<ReleaseRecord | undefined>;
  live(resourceId: number, pullRequestId: number): Promise<ReleaseRecord | undefined>;
  /** Live ones of a server, for the proxy's table and for bringing back what should run. */
  listByRole(role: ReleaseRole, serverIds?: readonly number[]): Promise<readonly ReleaseRecord[]>;
  /** All of a server, whatever their role, as of one moment: a promotion is seen whole or not at all. */
  listByServer(serverId: number): Promise<readonly ReleaseRecord[]>;
  /** As `listByServer`, of some resources. */
  listByResources(resourceIds: readonly number[]): Promise<readonly ReleaseRecord[]>;
  setUpstream(deploymentId: number, upstream: Upstream | null): Promise<void>;
  delete(deploymentId: number): Promise<void>;
  /** A retiring one becomes `kept`: it does not run any more, what was built for it stays. */
  keep(deploymentId: number): Promise<void>;
  /** The release that a rollback reuses; `undefined` when it is no longer kept. */
  findBuild(resourceId: number, builtBy: string): Promise<ReleaseRecord | undefined>;
  /** Kept ones of a resource beyond the newest `count`, without those that a waiting or running rollback asks for. */
  listSurplus(resourceId: number, count: number): Promise<readonly ReleaseRecord[]>;
}

/** With the URLs it claims itself, not those of its previews. */
export interface RoutedResource extends ResourceRecord {
  readonly domains: readonly DomainClaim[];
}

export interface InspectedResource extends RoutedResource {
  /** It has no release and no preview and is recorded as stopped throughout: only its sites can need anything. */
  readonly is_resting: boolean;
  /** Of its sites, where its kind has such settings. */
  readonly site_settings: SiteSettings | null;
}

/** Changed resources of servers. */
export interface ResourceChanges {
  /** Where the next reading begins. */
  readonly position: string;
  /** `key` identifies the change: one that was read before may be answered once more. */
  readonly changes: readonly { readonly server_id: number; readonly resource_id: number; readonly key: string }[];
}

export interface SystemResourceStore {
  find(id: number): Promise<ResourceRecord | undefined>;
  /** With what its kind has. */
  subject(id: number): Promise<DeploySubject | undefined>;
  /** Claims of a resource itself, not of its previews, for its routes. */
  domains(id: number): Promise<readonly DomainClaim[]>;
  setStatus(id: number, status: string): Promise<void>;
  setRestarts(
    id: number,
    restarts: { readonly restart_count: number; readonly last_restart_at: Date | null },
  ): Promise<void>;
  /** Those of these uuids that are, or were, of a resource of this instance. */
  everRecorded(uuids: Iterable<string>): Promise<ReadonlySet<string>>;
  /**
   * Forgets those that were removed longer ago: what may still lie on a server of them is then left alone.
   * @returns How many.
   */
  pruneRemoved(keptDays: number): Promise<number>;
  listRemoving(): Promise<readonly ResourceRecord[]>;
  /** A deployment of it has begun once, or it has a release: an engine may hold something of it. */
  hasRun(id: number): Promise<boolean>;
  /** All of a server, for what should run there and its proxy's table. */
  listByServer(serverId: number): Promise<readonly RoutedResource[]>;
  /**
   * Which resources of these servers, or what belongs to them, changed since a position; deleted ones too. All of a
   * server that has none yet.
   */
  changes(since: ReadonlyMap<number, string | undefined>): Promise<ResourceChanges>;
  /** Forgets changes that are older. */
  pruneChanges(keptSeconds: number): Promise<number>;
  /** Those of these that exist. */
  inspect(ids: readonly number[]): Promise<readonly InspectedResource[]>;
  /** Removes the row and its children, ends the job of its removal, and writes its event. */
  delete(id: number): Promise<void>;
}

/** Leases for work that only one replica may do, such as `server:3`. Names never come from input. */
export interface LeaseStore {
  /** `true` when `owner` holds it now: it was free, ran out, or was held by the same owner. */
  acquire(name: string, owner: string, seconds: number): Promise<boolean>;
  /** As `acquire`, for many at once. Answers the names that `owner` holds now. */
  acquireAll(names: readonly string[], owner: string, seconds: number): Promise<ReadonlySet<string>>;
  release(name: string, owner: string): Promise<void>;
}
