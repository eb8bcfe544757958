import type { ApplicationSettings, ApplicationSource } from "@berth/core/application";
import type { DatabaseEngine } from "@berth/core/database";
import type { DesiredState, ResourceKind } from "@berth/core/resource";
import type { ServiceContainerKind } from "@berth/core/service";
import type { ColumnType, Generated } from "kysely";
import type { Json, Sealed, Timestamps } from "./column.ts";

export interface ResourceTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  kind: ResourceKind;
  team_id: number;
  environment_id: number;
  server_id: number;
  destination_id: number;
  name: string;
  description: string | null;
  status: Generated<string>;
  status_problem: Generated<string | null>;
  desired_state: Generated<DesiredState>;
  stop_reason: Generated<string | null>;
  removing_at: Date | null;
  delete_volumes: Generated<boolean>;
  docker_cleanup: Generated<boolean>;
  delete_connected_networks: Generated<boolean>;
}

/** Written by a trigger. Objects found on a server with such a uuid were this instance's. */
export interface RemovedResourceTable {
  uuid: string;
  removed_at: Generated<Date>;
}

/** Written by triggers: changes of a server's resources, for a reader that caches the rest. */
export interface ResourceChangeTable {
  server_id: number;
  xid: string;
  resource_id: number;
  at: Generated<Date>;
}

/** Kept by triggers, so that the total of a list costs one row whatever its length. */
export interface ResourceCountTable {
  team_id: number;
  kind: ResourceKind;
  environment_id: number;
  server_id: number;
  total: number;
}

export interface ApplicationTable {
  resource_id: number;
  source: ApplicationSource;
  github_app_id: number | null;
  /** Number of the repository at its GitHub app. */
  repository_project_id: number | null;
  /** Generated from the settings by the database. */
  repository_key: ColumnType<string | null, never, never>;
  fqdn: string | null;
  private_key_id: number | null;
  settings: Json<Partial<ApplicationSettings>>;
  secrets: Sealed;
  restart_count: Generated<number>;
  last_restart_at: Date | null;
  last_online_at: Date | null;
  scale_problem: string | null;
}

/** Only of applications on several servers, with a row for each of them. */
export interface ApplicationDestinationTable {
  resource_id: number;
  server_id: number;
  destination_id: number;
  status: Generated<string>;
  status_problem: string | null;
  restart_count: Generated<number>;
  is_given_up: Generated<boolean>;
  scale_problem: string | null;
  created_at: Generated<Date>;
}

/** Columns of every kind's table. The stores define types for settings and secrets. */
interface KindTable {
  resource_id: number;
  settings: Json<Readonly<Record<string, unknown>>>;
  secrets: Sealed;
  restart_count: Generated<number>;
  last_restart_at: Date | null;
  last_online_at: Date | null;
}

export interface DatabaseTable extends KindTable {
  /** The same as in `resource`. */
  server_id: number;
  engine: DatabaseEngine;
  is_public: Generated<boolean>;
  public_port: number | null;
  public_port_problem: Generated<string | null>;
  loopback_port: Generated<number | null>;
  started_at: Date | null;
  certificate_expires_at: Date | null;
  /** When its approaching expiry was reported. */
  certificate_told_at: Date | null;
}

export interface ServiceTable extends KindTable {
  /** Key of the template; `null` for a service from a compose file. */
  service_type: string | null;
}

export interface ServiceContainerTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  kind: ServiceContainerKind;
  name: string;
  human_name: string | null;
  description: string | null;
  image: string | null;
  fqdn: string | null;
  ports: string | null;
  exposes: string | null;
  status: Generated<string>;
  exclude_from_status: boolean;
  port: number | null;
  /** Position in the compose file. */
  position: number;
  last_online_at: Date | null;
}

/** Lasting container names of applications. */
export interface ContainerNameTable {
  resource_id: number;
  server_id: number;
  name: string;
}

export interface DomainTable {
  id: Generated<number>;
  resource_id: number;
  /** The service's container that receives the requests. */
  service_container_id: number | null;
  /** Name of the container that receives the requests, for an application with several. */
  container: string | null;
  host: string;
  path: string;
  url: string;
  /** Position in the owner's list. */
  position: number;
  /** Pull request of the preview that claims it; 0 for the resource itself. */
  pull_request_id: Generated<number>;
}

/** Rows are deleted with the https URLs of their host, by a trigger. */
export interface CertificateProblemTable {
  resource_id: number;
  host: string;
  reason: string;
  is_refused: boolean;
}

export interface ApplicationPreviewTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  pull_request_id: number;
  pull_request_html_url: Generated<string>;
  fqdn: string | null;
  status: Generated<string>;
  git_type: string | null;
  docker_registry_image_tag: string | null;
  last_online_at: Date | null;
  removing_at: Date | null;
  is_reopened: Generated<boolean>;
}

export interface EnvTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  key: string;
  value: Sealed;
  is_preview: boolean;
  is_literal: boolean;
  is_multiline: boolean;
  is_shown_once: boolean;
  is_runtime: boolean;
  is_buildtime: boolean;
  /** Its value references a database. */
  names_database: boolean;
  is_required: boolean;
  comment: string | null;
  order: number | null;
}

/** A shared variable of a team, project, environment or server. */
export interface SharedVariableTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  owner_id: number;
  key: string;
  value: Sealed;
  is_multiline: boolean;
  is_shown_once: boolean;
  comment: string | null;
}

export interface StorageTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  type: "persistent" | "file";
  name: string | null;
  mount_path: string;
  host_path: string | null;
  content: Sealed;
  fs_path: string | null;
  is_directory: boolean;
  is_preview_suffix_enabled: boolean;
  container: string | null;
  is_managed: Generated<boolean>;
  is_read_only: Generated<boolean>;
  has_volume: Generated<boolean>;
}
