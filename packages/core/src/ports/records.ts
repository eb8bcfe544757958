import type { ApplicationSettings, ApplicationSource } from "../application/application.ts";
import type { CertificateProblem } from "../application/certificate-problem.ts";
import type { DatabaseEngine } from "../database/database-engine.ts";
import type { Artifact } from "../deploy/artifact.ts";
import type { DeploymentStatus } from "../deploy/deployment.ts";
import type { RemovalFlags } from "../deploy/lifecycle.ts";
import type { Upstream } from "../deploy/release.ts";
import type { DesiredState, ResourceKind } from "../resource/resource.ts";
import type { ProxyStatus } from "../server/proxy-status.ts";
import type { EngineKind, ServerSettings } from "../server/server-settings.ts";
import type { EventActor } from "../team/event.ts";
import type { Ability } from "../team/permission.ts";

/** A page of a list: skips `skip` rows and returns at most `take`; without `take`, all. */
export interface Paging {
  readonly skip?: number | undefined;
  readonly take?: number | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Number of all matching rows, regardless of the page. */
  readonly total: number;
}

/** Filter for a list of resources of one kind. */
export interface KindFilter {
  readonly ids?: readonly number[] | undefined;
  readonly environment_id?: number | undefined;
}

export interface Timestamps {
  readonly created_at: Date;
  readonly updated_at: Date;
}

export interface TeamRecord extends Timestamps {
  readonly id: number;
  readonly name: string;
  readonly description: string | null;
  readonly personal_team: boolean;
  readonly show_boarding: boolean;
  readonly second_factor_required: boolean;
}

export interface TokenRecord {
  readonly id: number;
  readonly team_id: number;
  /** The member of the team who acts with it. */
  readonly user_id: number;
  readonly name: string;
  readonly abilities: readonly Ability[];
  readonly expires_at: Date | null;
  readonly last_used_at: Date | null;
  readonly created_at: Date;
}

export interface ProjectRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly description: string | null;
}

export interface EnvironmentRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly project_id: number;
  readonly name: string;
  readonly description: string | null;
}

export interface ServerRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly name: string;
  readonly description: string | null;
  readonly ip: string;
  readonly port: number;
  readonly user: string;
  readonly engine: EngineKind;
  /** In upper case. */
  readonly proxy_type: string;
  /** Somebody stopped its proxy, so it is started only on request. */
  readonly is_proxy_stopped: boolean;
  /** Last observed status of its proxy; `null` before the first observation. */
  readonly proxy_status: ProxyStatus | null;
  /** Why its proxy does not run or does not know its sites. */
  readonly proxy_problem: string | null;
  /** Why its log drain does not deliver lines. */
  readonly log_drain_problem: string | null;
  readonly settings: ServerSettings;
  readonly cloud_provider_token_id: number | null;
  /** The provider's number of the rented machine. */
  readonly hetzner_server_id: number | null;
  /** SSH key for the server. */
  readonly private_key_id: number | null;
  /** The address before its last change. */
  readonly ip_previous: string | null;
  readonly is_validating: boolean;
  /** Problems of the last validation, one sentence per line; `null` without any. */
  readonly validation_logs: string | null;
  /** Expected fingerprint of its machine, `SHA256:…`; `null` until the first connection. */
  readonly host_key: string | null;
  /** Number of recent probes that failed. */
  readonly unreachable_count: number;
  /** Recent probes as bits, the newest in the lowest bit; 1 is a failure. */
  readonly probes: number;
  /** Its disk was above the threshold at the last check, which was already reported. */
  readonly is_disk_usage_high: boolean;
  /** Machine facts of the last validation. */
  readonly server_metadata: ServerFacts | null;
  /** Swarm's own ids of its cluster and of its node; `null` outside of a cluster. Only managers report the first. */
  readonly swarm_cluster_id: string | null;
  readonly swarm_node_id: string | null;
  /** Id of the server that stands for its cluster: a manager of the same team. The same for all nodes. */
  readonly swarm_cluster: number | null;
  /** Set when deletion was requested; the row is deleted after the last resource on it. */
  readonly removing_at: Date | null;
  /** Grows with each change of the record, so the higher revision is the newer one. */
  readonly revision: number;
}

/** Hardware and operating system of a Docker server. */
export interface ServerFacts {
  readonly engine_version: string;
  readonly api_version: string;
  readonly operating_system: string;
  readonly kernel_version: string;
  /** In the notation of image platforms, e.g. `amd64`. */
  readonly architecture: string;
  readonly cpus: number;
  readonly memory_bytes: number;
  readonly disk_total_bytes: number | null;
  readonly disk_free_bytes: number | null;
}
/** Fields that only servers on rented machines have. */
export type RentedFields = Pick<ServerRecord, "cloud_provider_token_id" | "hetzner_server_id">;

/**
 * Common fields of all kinds of resources: one row of the table `resource`. The removal flags are valid with
 * `removing_at`.
 */
export interface ResourceRecord extends Timestamps, RemovalFlags {
  readonly id: number;
  readonly uuid: string;
  readonly kind: ResourceKind;
  readonly team_id: number;
  readonly environment_id: number;
  readonly server_id: number;
  readonly destination_id: number;
  readonly name: string;
  readonly description: string | null;
  /** `state:health` as in RULES 6, as last observed. */
  readonly status: string;
  /** Why it cannot run, and what to do, as last observed. */
  readonly status_problem: string | null;
  readonly desired_state: DesiredState;
  /** Why Berth stopped it by itself, and what to do. */
  readonly stop_reason: string | null;
  /** Set when deletion was requested; the row is deleted after the removal. */
  readonly removing_at: Date | null;
}

/** A resource in a list of all kinds, with the fields that determine its type. */
export interface ListedResource extends ResourceRecord {
  /** Engine of a database; `null` for other kinds. */
  readonly database_engine: DatabaseEngine | null;
}

/** Names of the objects that a resource is in, read together with it: every answer about a resource contains them. */
export interface Placement {
  readonly project_uuid: string;
  readonly project_name: string;
  readonly environment_uuid: string;
  readonly environment_name: string;
  readonly server_uuid: string;
  readonly server_name: string;
  readonly server_ip: string;
  readonly server_engine: EngineKind;
  /** The server is reachable, usable and not disabled. */
  readonly is_server_functional: boolean;
  readonly destination_uuid: string;
  readonly destination_name: string;
  readonly destination_network: string;
}

/** The repository that an application uses through a GitHub app. */
export interface GithubSource {
  /** Id of the app. */
  readonly id: number;
  /** URL of the site with the repository, e.g. `https://github.com`. */
  readonly html_url: string;
  /** Number of the repository, which does not change when it is renamed. */
  readonly repository_id: number;
}

export interface ApplicationRecord extends ResourceRecord {
  readonly placement: Placement;
  readonly source: ApplicationSource;
  /** Set if the source is fetched through an app; `git_repository` is then `owner/name`. */
  readonly github_app: GithubSource | null;
  /** Comma-separated URLs. Written together with the claims in the table `domain`, which decide who has a URL. */
  readonly fqdn: string | null;
  /** Key for reading its repository. */
  readonly private_key_id: number | null;
  readonly settings: ApplicationSettings;
  readonly restart_count: number;
  readonly last_restart_at: Date | null;
  readonly last_online_at: Date | null;
  /** Why it lacks containers, or has too many, since the last attempt to scale it failed. */
  readonly scale_problem: string | null;
  /** The worst one of its URLs. */
  readonly certificate_problem: CertificateProblem | null;
  /** Number of servers that it is deployed to besides the primary one. */
  readonly additional_servers_count: number;
}

/** A claimed URL: a host belongs to one team of the instance, and each of its paths to one holder (D7). */
export interface DomainClaim {
  /** Lower case, IDNA. */
  readonly host: string;
  /** `/` or `/prefix`. */
  readonly path: string;
  /** The URL as shown. */
  readonly url: string;
  /** As a browser opens it: with the port of the server's proxy, without that of a container. Only in deployments. */
  readonly public_url?: string | undefined;
  /** For a service: the container that receives the requests. */
  readonly service_container_id?: number | null | undefined;
  /** Name of the container that receives the requests, if there are several. Read-only for services. */
  readonly container?: string | null | undefined;
  /** Port of that container, unless the URL names one; read-only. */
  readonly container_port?: number | null | undefined;
}

export interface DomainHolder extends DomainClaim {
  readonly team_id: number;
  readonly resource_uuid: string;
  readonly resource_name: string;
  readonly resource_kind: ResourceKind;
  /** Pull request of the preview that claims it; 0 for the resource itself. */
  readonly pull_request_id: number;
  /** The service's container that this concerns. */
  readonly container_name: string | null;
}

export interface EnvRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly key: string;
  /** Decrypted, byte for byte (D31). */
  readonly value: string | null;
  readonly is_preview: boolean;
  readonly is_literal: boolean;
  readonly is_multiline: boolean;
  readonly is_shown_once: boolean;
  readonly is_runtime: boolean;
  readonly is_buildtime: boolean;
  readonly is_required: boolean;
  readonly comment: string | null;
  readonly order: number | null;
}
export type EnvFields = Omit<EnvRecord, "id" | "uuid" | "created_at" | "updated_at">;

export interface DeploymentRecord extends Timestamps {
  readonly id: number;
  readonly uuid: string;
  readonly team_id: number;
  readonly resource_id: number;
  readonly resource_uuid: string;
  readonly resource_name: string;
  readonly server_id: number;
  readonly server_name: string;
  readonly destination_id: number;
  readonly status: DeploymentStatus;
  readonly pull_request_id: number;
  readonly commit: string;
  readonly commit_message: string | null;
  readonly force_rebuild: boolean;
  /** Starts an existing build. */
  readonly restart_only: boolean;
  /** Of a service: containers that have not changed continue, even if none has. */
  readonly keeps_unchanged: boolean;
  readonly rollback: boolean;
  /** Uuid of the deployment whose build a rollback uses. */
  readonly rollback_to: string | null;
  /** Uuid of the deployment to the first of several servers, which starts earlier and decides the commit. */
  readonly follows: string | null;
  readonly is_webhook: boolean;
  readonly is_api: boolean;
  /** Kind of git host of the pull request. */
  readonly git_type: string | null;
  /** Who asked for it; `null`: a push, Berth itself, or not recorded. */
  readonly actor: EventActor | null;
  /** Tag that replaces the application's tag, for an image. */
  readonly docker_registry_image_tag: string | null;
  /** Server of the build; `null`: the target server, or not chosen yet. */
  readonly build_server_id: number | null;
  /** Set when somebody cancels a deployment in progress; its worker ends the work. */
  readonly cancel_requested_at: Date | null;
  /** Why it failed, in one sentence. */
  readonly error: string | null;
  /** Code of the error of its failed step; text, since later versions may know other codes. */
  readonly error_code: string | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  /** The fencing token of its writes: grows by one whenever a worker takes over the deployment. */
  readonly attempt: number;
}

export interface NewDeployment {
  readonly uuid: string;
  readonly resource_id: number;
  readonly server_id: number;
  readonly destination_id: number;
  readonly pull_request_id: number;
  readonly commit: string;
  readonly force_rebuild: boolean;
  readonly restart_only: boolean;
  readonly keeps_unchanged: boolean;
  readonly rollback: boolean;
  /** Uuid of the deployment whose build a rollback uses. */
  readonly rollback_to: string | null;
  /** Uuid of the deployment in the same request that this one follows, see `DeploymentRecord`. */
  readonly follows: string | null;
  readonly is_webhook: boolean;
  readonly is_api: boolean;
  readonly git_type: string | null;
  readonly docker_registry_image_tag: string | null;
  /** Skips the checks for duplicates and concurrency, but not the queue limit (RULES 4.29, D4). */
  readonly is_instant: boolean;
}

/** Outcome of a deployment request: `duplicate` contains the waiting or running one (D14). */
export type EnqueueOutcome =
  | { readonly outcome: "queued"; readonly deployment: DeploymentRecord }
  | { readonly outcome: "duplicate"; readonly deployment: DeploymentRecord }
  | { readonly outcome: "full"; readonly limit: number };

/** `kept`: stopped, but its build stays for rollbacks. */
export type ReleaseRole = "candidate" | "live" | "retiring" | "kept";

/** The release of a deployment. At most one is `live` per resource, server and pull request. */
export interface ReleaseRecord extends Timestamps {
  readonly deployment_id: number;
  readonly deployment_uuid: string;
  readonly resource_id: number;
  readonly resource_uuid: string;
  readonly pull_request_id: number;
  readonly server_id: number;
  readonly role: ReleaseRole;
  readonly artifact: Artifact;
  /** Uuid of the deployment whose build the release runs: another one if this one only restarted it. */
  readonly built_by: string;
  readonly upstream: Upstream | null;
  /** Set when it retires: the deployment that replaced it, whose step `retire` reports the removal. */
  readonly replaced_by_deployment_id: number | null;
}

/** A resource as messages name it. */
export type NamedResource = Pick<ResourceRecord, "kind" | "name">;

/** A live release, as far as its usage is recorded. */
export type MeasuredRelease = Pick<
  ReleaseRecord,
  "deployment_id" | "deployment_uuid" | "resource_id" | "resource_uuid" | "server_id"
>;

export interface EventRecord {
  readonly id: number;
  readonly type: string;
  readonly resource_uuid: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly actor: EventActor | null;
  readonly created_at: Date;
}
