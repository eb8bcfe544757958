import type {
  Ability,
  ApplicationSettings,
  ApplicationSource,
  Artifact,
  BackupSettings,
  BackupStatus,
  BackupStep,
  CloudProviderKind,
  DatabaseEngine,
  DeploymentStatus,
  DesiredState,
  DumpTarget,
  EngineKind,
  JobStatus,
  JobSubjectType,
  JobType,
  ProxyStatus,
  ReleaseRole,
  ResourceKind,
  RestoredTable,
  RestoreKind,
  RestoreStep,
  Role,
  ScheduleKind,
  ServerFacts,
  ServerSettings,
  ServiceContainerKind,
  StepName,
  StepStatus,
  TableRows,
  TaskExecutionStatus,
  Upstream,
  WebhookAnswer,
  WebhookProvider,
} from "@berth/core";
import type { ColumnType, Generated } from "kysely";

/** `jsonb`: read as a value, written as JSON text, since the driver would write an array as a PostgreSQL array. */
type Json<T> = ColumnType<T, string, string>;
type NullableJson<T> = ColumnType<T | null, string | null | undefined, string | null>;
/** Encrypted: see `cipher.ts`. */
type Sealed = ColumnType<Uint8Array | null, Uint8Array | null | undefined, Uint8Array | null>;

interface Timestamps {
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

interface TeamTable extends Timestamps {
  id: Generated<number>;
  name: string;
  description: string | null;
  personal_team: Generated<boolean>;
  show_boarding: Generated<boolean>;
}

interface UserTable extends Timestamps {
  id: Generated<number>;
  name: string;
  email: string;
}

interface TeamMemberTable {
  team_id: number;
  user_id: number;
  role: Role;
  created_at: Generated<Date>;
}

interface TokenTable {
  id: Generated<number>;
  team_id: number;
  user_id: number;
  name: string;
  abilities: Json<readonly Ability[]>;
  /** SHA-256 (hex) of the secret part. */
  hash: string;
  expires_at: Date | null;
  last_used_at: Date | null;
  created_at: Generated<Date>;
}

interface PrivateKeyTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  public_key: string;
  fingerprint: string;
  is_http_basic_auth_enabled: boolean;
  http_basic_auth_username: string | null;
  secrets: Uint8Array;
}

interface GithubAppTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  organization: string | null;
  api_url: string;
  html_url: string;
  custom_user: string;
  custom_port: number;
  app_id: number;
  installation_id: number;
  client_id: string;
  is_system_wide: boolean;
  private_key_id: number;
  secrets: Uint8Array;
}

interface WebhookDeliveryTable {
  provider: WebhookProvider;
  owner: string;
  delivery_id: string;
  answer: NullableJson<WebhookAnswer>;
  created_at: Generated<Date>;
}

interface ProjectTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
}

interface EnvironmentTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  project_id: number;
  name: string;
  description: string | null;
}

interface ServerTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  ip: string;
  port: number;
  user: string;
  private_key_id: number | null;
  engine: EngineKind;
  proxy_type: string;
  is_proxy_stopped: Generated<boolean>;
  proxy_status: ColumnType<ProxyStatus | null, ProxyStatus | null | undefined, ProxyStatus | null>;
  proxy_problem: ColumnType<string | null, string | null | undefined, string | null>;
  settings: Json<Partial<ServerSettings>>;
  ip_previous: string | null;
  is_validating: Generated<boolean>;
  validation_logs: string | null;
  removing_at: Date | null;
  cloud_provider_token_id: number | null;
  /** Of the machine that was rented for it. */
  hetzner_server_id: number | null;
  host_key: string | null;
  unreachable_count: Generated<number>;
  probes: Generated<number>;
  is_disk_usage_high: Generated<boolean>;
  server_metadata: ColumnType<ServerFacts | null, string | null | undefined, string | null>;
}

interface CloudTokenTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  provider: CloudProviderKind;
  name: string;
  token: ColumnType<Uint8Array, Uint8Array, never>;
}

interface DestinationTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  server_id: number;
  name: string;
  network: string;
}

interface ResourceTable extends Timestamps {
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
  desired_state: Generated<DesiredState>;
  removing_at: Date | null;
  delete_volumes: Generated<boolean>;
  docker_cleanup: Generated<boolean>;
  delete_connected_networks: Generated<boolean>;
}

/** Written by a trigger: what is found of it on a server was this instance's. */
interface RemovedResourceTable {
  uuid: string;
  removed_at: Generated<Date>;
}

/** Kept by triggers, so that the total of a list costs one row whatever its length. */
interface ResourceCountTable {
  team_id: number;
  kind: ResourceKind;
  environment_id: number;
  server_id: number;
  total: number;
}

interface ApplicationTable {
  resource_id: number;
  source: ApplicationSource;
  github_app_id: number | null;
  /** Of the repository, at its GitHub app. */
  repository_project_id: number | null;
  /** Made from the settings by the database. */
  repository_key: ColumnType<string | null, never, never>;
  fqdn: string | null;
  private_key_id: number | null;
  settings: Json<Partial<ApplicationSettings>>;
  secrets: Sealed;
  restart_count: Generated<number>;
  last_restart_at: Date | null;
  last_online_at: Date | null;
}

/** What the tables of all kinds have. Settings and secrets are typed by their stores. */
interface KindTable {
  resource_id: number;
  settings: Json<Readonly<Record<string, unknown>>>;
  secrets: Sealed;
  restart_count: Generated<number>;
  last_restart_at: Date | null;
  last_online_at: Date | null;
}

interface DatabaseTable extends KindTable {
  /** As in `resource`. */
  server_id: number;
  engine: DatabaseEngine;
  is_public: Generated<boolean>;
  public_port: number | null;
  public_port_problem: Generated<string | null>;
  started_at: Date | null;
  certificate_expires_at: Date | null;
  /** When its coming end was told of. */
  certificate_told_at: Date | null;
}

interface S3StorageTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  endpoint: string;
  bucket: string;
  region: string;
  is_usable: boolean;
  credentials: Uint8Array;
}

interface RegistryTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
  description: string | null;
  address: string;
  username: string;
  password: Uint8Array;
}

interface ScheduledBackupTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  enabled: boolean;
  frequency: string;
  s3_storage_id: number | null;
  settings: Json<Partial<BackupSettings>>;
  requested_at: Date | null;
}

interface BackupExecutionTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  scheduled_backup_id: number;
  status: Generated<BackupStatus>;
  message: string | null;
  size_bytes: number | null;
  filename: string | null;
  database_name: string | null;
  local_storage_deleted: Generated<boolean>;
  s3_storage_deleted: Generated<boolean>;
  s3_uploaded: boolean | null;
  finished_at: Date | null;
  cancel_requested_at: Date | null;
  target: NullableJson<DumpTarget>;
  due_at: Date | null;
  started_at: Date | null;
  step: BackupStep | null;
  written_bytes: number | null;
  sha256: string | null;
  table_rows: NullableJson<TableRows>;
  /** Names the folder that the file is in. */
  folder: string | null;
  s3_storage_id: number | null;
  s3_key: string | null;
  /** Its object is deleted with it. */
  is_s3_going: Generated<boolean>;
  lease_owner: string | null;
  lease_expires_at: Date | null;
}

/** Copies of backups that nobody knows any more. */
interface BackupRemovalTable {
  id: Generated<number>;
  folder: string | null;
  filename: string | null;
  s3_storage_id: number | null;
  s3_key: string | null;
  attempts: Generated<number>;
  not_before: Generated<Date>;
}

interface BackupRestoreTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  kind: RestoreKind;
  backup_execution_id: number;
  resource_id: number;
  target_resource_id: number;
  database_name: string | null;
  status: Generated<BackupStatus>;
  step: RestoreStep | null;
  message: string | null;
  tables: NullableJson<readonly RestoredTable[]>;
  started_at: Date | null;
  finished_at: Date | null;
  cancel_requested_at: Date | null;
  lease_owner: string | null;
  lease_expires_at: Date | null;
}

/** Kept by triggers, as `resource_count`. */
interface BackupExecutionCountTable {
  scheduled_backup_id: number;
  total: number;
}

interface ServiceTable extends KindTable {
  /** Of a one-click service: the key of its template. */
  service_type: string | null;
}

interface ServiceContainerTable extends Timestamps {
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
  /** In the compose text. */
  position: number;
  last_online_at: Date | null;
}

/** Of an application whose container has the same name after every deployment. */
interface ContainerNameTable {
  resource_id: number;
  server_id: number;
  name: string;
}

interface DomainTable {
  id: Generated<number>;
  resource_id: number;
  /** Of a service: which of its containers. */
  service_container_id: number | null;
  /** Of an application with several containers: the name of one. */
  container: string | null;
  host: string;
  path: string;
  url: string;
  /** Order in which the owner named them. */
  position: number;
  /** Of the preview that claims it; 0: the resource itself. */
  pull_request_id: Generated<number>;
}

interface ApplicationPreviewTable extends Timestamps {
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
}

interface EnvTable extends Timestamps {
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
  is_required: boolean;
  comment: string | null;
  order: number | null;
}

/** Of a team, project, environment or server alike. */
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

interface MetricTable {
  resource_id: number;
  at: Date;
  deployment_uuid: string;
  cpu_percent: number | null;
  memory_bytes: number;
  processes: number;
  network_received_bytes: number | null;
  network_sent_bytes: number | null;
  disk_read_bytes: number | null;
  disk_written_bytes: number | null;
}

interface StorageTable extends Timestamps {
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

interface ScheduledTaskTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  resource_id: number;
  name: string;
  command: string;
  frequency: string;
  container: string | null;
  timeout: number;
  enabled: boolean;
}

interface ScheduledTaskExecutionTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  scheduled_task_id: number;
  status: Generated<TaskExecutionStatus>;
  message: string | null;
  error_details: string | null;
  exit_code: number | null;
  retry_count: number;
  due_at: Date | null;
  lease_owner: string | null;
  lease_expires_at: Date | null;
  started_at: Date;
  finished_at: Date | null;
}

/** Kept by triggers, as `resource_count`. */
interface ScheduledTaskExecutionCountTable {
  scheduled_task_id: number;
  total: number;
}

/** Kept by triggers: a row for each subject that has a frequency and is enabled. */
interface ScheduleTable {
  kind: ScheduleKind;
  subject_id: number;
  server_id: number;
  frequency: string;
  revision: Generated<number>;
  changed_at: Generated<Date>;
  is_planned: Generated<boolean>;
  due_at: Generated<Date>;
}

/** One row: when a scheduler last worked. */
interface SchedulerTable {
  id: number;
  looked_at: Date;
  is_stall_told: boolean;
}

interface TagTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  name: string;
}

interface ResourceTagTable {
  resource_id: number;
  tag_id: number;
}

interface DeploymentTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  resource_id: number;
  /** As they were when it was queued: lists need no join. */
  resource_uuid: string;
  resource_name: string;
  server_id: number;
  destination_id: number;
  status: Generated<DeploymentStatus>;
  pull_request_id: number;
  commit: string;
  commit_message: string | null;
  force_rebuild: boolean;
  restart_only: boolean;
  rollback: boolean;
  is_webhook: boolean;
  is_api: boolean;
  is_instant: boolean;
  git_type: string | null;
  rollback_to: string | null;
  build_server_id: number | null;
  docker_registry_image_tag: string | null;
  cancel_requested_at: Date | null;
  error: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  attempt: Generated<number>;
  lease_owner: string | null;
  lease_expires_at: Date | null;
  /** `seq` of the newest log line. */
  log_seq: Generated<number>;
}

/** Kept by triggers, as `resource_count`. */
interface DeploymentCountTable {
  resource_id: number;
  pull_request_id: number;
  total: number;
}

interface DeploymentStepTable {
  deployment_id: number;
  name: StepName;
  status: StepStatus;
  started_at: Date | null;
  finished_at: Date | null;
  output: NullableJson<Readonly<Record<string, unknown>>>;
  error: string | null;
}

interface DeploymentLogTable {
  deployment_id: number;
  seq: number;
  step: StepName | null;
  type: "stdout" | "stderr";
  output: string;
  hidden: boolean;
  timestamp: Date;
}

interface ReleaseTable extends Timestamps {
  deployment_id: number;
  deployment_uuid: string;
  resource_id: number;
  resource_uuid: string;
  pull_request_id: number;
  server_id: number;
  role: ReleaseRole;
  artifact: Json<Artifact>;
  built_by: string;
  upstream: NullableJson<Upstream>;
  replaced_by_deployment_id: number | null;
}

interface JobTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  type: JobType;
  subject_type: JobSubjectType;
  subject_id: number;
  subject_uuid: string;
  subject_name: string;
  status: Generated<JobStatus>;
  error: string | null;
  attempts: Generated<number>;
  lease_owner: string | null;
  lease_expires_at: Date | null;
  log: string | null;
  started_at: Date | null;
  finished_at: Date | null;
}

interface EventTable {
  id: Generated<number>;
  team_id: number;
  type: string;
  resource_uuid: string | null;
  payload: Json<Readonly<Record<string, unknown>>>;
  created_at: Generated<Date>;
}

interface LeaseTable {
  name: string;
  owner: string;
  expires_at: Date;
}

interface SettingTable {
  key: string;
  value: Json<unknown>;
}

/** The tables. Column names are the names on the wire. */
export interface DB {
  team: TeamTable;
  user: UserTable;
  team_member: TeamMemberTable;
  token: TokenTable;
  private_key: PrivateKeyTable;
  github_app: GithubAppTable;
  webhook_delivery: WebhookDeliveryTable;
  project: ProjectTable;
  environment: EnvironmentTable;
  server: ServerTable;
  destination: DestinationTable;
  resource: ResourceTable;
  removed_resource: RemovedResourceTable;
  resource_count: ResourceCountTable;
  application: ApplicationTable;
  database: DatabaseTable;
  service: ServiceTable;
  service_container: ServiceContainerTable;
  s3_storage: S3StorageTable;
  registry: RegistryTable;
  scheduled_backup: ScheduledBackupTable;
  backup_execution: BackupExecutionTable;
  backup_execution_count: BackupExecutionCountTable;
  backup_removal: BackupRemovalTable;
  backup_restore: BackupRestoreTable;
  container_name: ContainerNameTable;
  domain: DomainTable;
  application_preview: ApplicationPreviewTable;
  env: EnvTable;
  team_variable: SharedVariableTable;
  project_variable: SharedVariableTable;
  environment_variable: SharedVariableTable;
  server_variable: SharedVariableTable;
  metric: MetricTable;
  storage: StorageTable;
  schedule: ScheduleTable;
  scheduler: SchedulerTable;
  scheduled_task: ScheduledTaskTable;
  scheduled_task_execution: ScheduledTaskExecutionTable;
  scheduled_task_execution_count: ScheduledTaskExecutionCountTable;
  tag: TagTable;
  resource_tag: ResourceTagTable;
  deployment: DeploymentTable;
  deployment_count: DeploymentCountTable;
  deployment_step: DeploymentStepTable;
  deployment_log: DeploymentLogTable;
  release: ReleaseTable;
  job: JobTable;
  event: EventTable;
  lease: LeaseTable;
  setting: SettingTable;
  cloud_token: CloudTokenTable;
}
