import type { ApplicationSettings, ApplicationSource } from "../application/application.ts";
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

/** A page of a list: `skip` rows are passed over, at most `take` are answered; no `take` answers all. */
export interface Paging {
  readonly skip?: number | undefined;
  readonly take?: number | undefined;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Number of all matching rows, regardless of the page. */
  readonly total: number;
}

/** Which resources of a kind a list shall have. */
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
  /** The member of the team who acts through it. */
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
  /** In capitals. */
  readonly proxy_type: string;
  /** Somebody stopped its proxy: nothing but being asked to starts it. */
  readonly is_proxy_stopped: boolean;
  /** Last observed status of its proxy; `null` before the first observation. */
  readonly proxy_status: ProxyStatus | null;
  /** Why its proxy does not know its sites, or does not run. */
  readonly proxy_problem: string | null;
  readonly settings: ServerSettings;
  readonly cloud_provider_token_id: number | null;
  /** Identifier of the rented machine. */
  readonly hetzner_server_id: number | null;
  /** Key for SSH. */
  readonly private_key_id: number | null;
  /** The address before the last change of it. */
  readonly ip_previous: string | null;
  readonly is_validating: boolean;
  /** Problems of the last validation, one sentence a line; `null` when there were none. */
  readonly validation_logs: string | null;
  /** Fingerprint that its machine must show, `SHA256:…`; `null` until the first connection. */
  readonly host_key: string | null;
  /** How many of the last probes failed. */
  readonly unreachable_count: number;
  /** The last probes, a bit each, the newest lowest: set where one failed. */
  readonly probes: number;
  /** Told of already: its disk was fuller than its threshold at the last look. */
  readonly is_disk_usage_high: boolean;
  /** Machine facts of the last validation. */
  readonly server_metadata: ServerFacts | null;
  /** Set once deletion was asked for; the row goes when the last resource on it is gone. */
  readonly removing_at: Date | null;
  /** Grows with each change of the record: of two that were read, it tells the newer one. */
  readonly revision: number;
}

/** Hardware and system of a Docker server. */
export interface ServerFacts {
  readonly engine_version: string;
  readonly api_version: string;
  readonly operating_system: string;
  readonly kernel_version: string;
  /** As image platforms name it, e.g. `amd64`. */
  readonly architecture: string;
  readonly cpus: number;
  readonly memory_bytes: number;
  readonly disk_total_bytes: number | null;
  readonly disk_free_bytes: number | null;
}
/** Fields of servers on rented machines only. */
export type RentedFields = Pick<ServerRecord, "cloud_provider_token_id" | "hetzner_server_id">;

/** Fields of every kind of resource: one row of the table `resource`. The removal flags count with `removing_at`. */
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
  readonly desired_state: DesiredState;
  /** Set once deletion was asked for; the row goes when the removal is done. */
  readonly removing_at: Date | null;
}

/** A resource in a list of all kinds, with what its type is made of. */
export interface ListedResource extends ResourceRecord {
  /** Engine of a database; `null` for other kinds. */
  readonly database_engine: DatabaseEngine | null;
}

/** The names of what a resource lives in, read together with it: every answer about it carries them. */
export interface Placement {
  readonly project_uuid: string;
  readonly environment_uuid: string;
  readonly environment_name: string;
  readonly server_uuid: string;
  readonly server_name: string;
  readonly server_ip: string;
  /** The server's settings say reachable and usable, and not disabled. */
  readonly is_server_functional: boolean;
  readonly destination_uuid: string;
  readonly destination_name: string;
  readonly destination_network: string;
}

/** The repository that an application has through a GitHub app. */
export interface GithubSource {
  /** The app. */
  readonly id: number;
  /** The site that the repository is at, e.g. `https://github.com`. */
  readonly html_url: string;
  /** The repository's number there, which stays when it is renamed. */
  readonly repository_id: number;
}

export interface ApplicationRecord extends ResourceRecord {
  readonly placement: Placement;
  readonly source: ApplicationSource;
  /** Through which its code is fetched; then `git_repository` is `owner/name`. */
  readonly github_app: GithubSource | null;
  /** Comma-separated URLs. Written together with the claims in the table `domain`, which decide who holds one. */
  readonly fqdn: string | null;
  /** Key that its repository is read with. */
  readonly private_key_id: number | null;
  readonly settings: ApplicationSettings;
  readonly restart_count: number;
  readonly last_restart_at: Date | null;
  readonly last_online_at: Date | null;
}

/** One claimed URL: a host belongs to one team of the instance, and each of its paths to one holder (D7). */
export interface DomainClaim {
  /** Lower case, IDNA. */
  readonly host: string;
  /** `/` or `/prefix`. */
  readonly path: string;
  /** The URL as it is shown. */
  readonly url: string;
  /** As a browser opens it: with the port of its server's proxy, and never that of a container. Only in deployments. */
  readonly public_url?: string | undefined;
  /** For a service: the container that receives the requests. */
  readonly service_container_id?: number | null | undefined;
  /** With several containers: the name of the one that receives the requests. Read-only for services. */
  readonly container?: string | null | undefined;
  /** Where that container listens, unless the URL names a port; only read. */
  readonly container_port?: number | null | undefined;
}

export interface DomainHolder extends DomainClaim {
  readonly team_id: number;
  readonly resource_uuid: string;
  readonly resource_name: string;
  readonly resource_kind: ResourceKind;
  /** Pull request of the preview that claims it; 0 for the resource itself. */
  readonly pull_request_id: number;
  /** Container of a service that it concerns. */
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
  /** Start what was built before, without a build. */
  readonly restart_only: boolean;
  readonly rollback: boolean;
  /** Uuid of the deployment whose build a rollback runs again. */
  readonly rollback_to: string | null;
  readonly is_webhook: boolean;
  readonly is_api: boolean;
  /** Kind of git host of the pull request. */
  readonly git_type: string | null;
  /** Tag that replaces the application's tag, for an image. */
  readonly docker_registry_image_tag: string | null;
  /** Where it is built; `null`: on the server that it goes to, or not yet chosen. */
  readonly build_server_id: number | null;
  /** Set when someone asked to cancel a deployment in progress; its worker sees it and ends the work. */
  readonly cancel_requested_at: Date | null;
  /** One sentence that says why it failed. */
  readonly error: string | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  /** Grows by one whenever a worker takes the deployment over: the fencing token of its writes. */
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
  readonly rollback: boolean;
  /** Uuid of the deployment whose build a rollback runs again. */
  readonly rollback_to: string | null;
  readonly is_webhook: boolean;
  readonly is_api: boolean;
  readonly git_type: string | null;
  readonly docker_registry_image_tag: string | null;
  /** Neither the duplicate nor the concurrency check applies; the queue limit does (RULES 4.29, D4). */
  readonly is_instant: boolean;
}

/** Outcome of a deployment request: `duplicate` names the one that is waiting or running (D14). */
export type EnqueueOutcome =
  | { readonly outcome: "queued"; readonly deployment: DeploymentRecord }
  | { readonly outcome: "duplicate"; readonly deployment: DeploymentRecord }
  | { readonly outcome: "full"; readonly limit: number };

/** `kept`: it does not run any more, and what was built for it stays to be rolled back to. */
export type ReleaseRole = "candidate" | "live" | "retiring" | "kept";

/** The release of a deployment. At most one is `live` per resource and pull request. */
export interface ReleaseRecord extends Timestamps {
  readonly deployment_id: number;
  readonly deployment_uuid: string;
  readonly resource_id: number;
  readonly resource_uuid: string;
  readonly pull_request_id: number;
  readonly server_id: number;
  readonly role: ReleaseRole;
  readonly artifact: Artifact;
  /** Uuid of the deployment whose build made the artifact: another one when this one only restarted what was there. */
  readonly built_by: string;
  readonly upstream: Upstream | null;
  /** Set when it retires: the deployment that took its place, whose step `retire` reports the removal. */
  readonly replaced_by_deployment_id: number | null;
}

export interface EventRecord {
  readonly id: number;
  readonly type: string;
  readonly resource_uuid: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly actor: EventActor | null;
  readonly created_at: Date;
}
