import type {
  BackupExecutionCountTable,
  BackupExecutionTable,
  BackupRemovalTable,
  BackupRestoreTable,
  S3StorageTable,
  ScheduledBackupTable,
} from "./schema/backup.ts";
import type {
  DeploymentCountTable,
  DeploymentLogTable,
  DeploymentStepTable,
  DeploymentTable,
  EventTable,
  JobTable,
  LeaseTable,
  ReleaseTable,
  SettingTable,
} from "./schema/deployment.ts";
import type { NotificationChannelTable, NotificationDeliveryTable } from "./schema/notification.ts";
import type {
  ApplicationDestinationTable,
  ApplicationPreviewTable,
  ApplicationTable,
  CertificateProblemTable,
  ContainerNameTable,
  DatabaseTable,
  DomainTable,
  EnvTable,
  RemovedResourceTable,
  ResourceChangeTable,
  ResourceCountTable,
  ResourceTable,
  ServiceContainerTable,
  ServiceTable,
  SharedVariableTable,
  StorageTable,
} from "./schema/resource.ts";
import type {
  ScheduledTaskExecutionCountTable,
  ScheduledTaskExecutionTable,
  ScheduledTaskTable,
  SchedulerTable,
  ScheduleTable,
} from "./schema/scheduled-task.ts";
import type {
  CloudTokenTable,
  DestinationTable,
  LogDrainPositionTable,
  LogDrainResourceTable,
  MetricTable,
  RegistryTable,
  ServerTable,
} from "./schema/server.ts";
import type {
  EnvironmentTable,
  GithubAppTable,
  IdentityProviderTable,
  IdentityTable,
  PasskeyChallengeTable,
  PasskeyTable,
  PrivateKeyTable,
  ProjectTable,
  ProviderAttemptTable,
  RecoveryCodeTable,
  ResourceTagTable,
  SecondFactorTable,
  SignInLinkTable,
  TagTable,
  TeamMemberTable,
  TeamTable,
  TokenTable,
  UserTable,
  WebhookDeliveryTable,
} from "./schema/team.ts";

/** The tables. Columns have the names of the API's fields. */
export interface DB {
  team: TeamTable;
  notification_channel: NotificationChannelTable;
  notification_delivery: NotificationDeliveryTable;
  user: UserTable;
  team_member: TeamMemberTable;
  token: TokenTable;
  sign_in_link: SignInLinkTable;
  second_factor: SecondFactorTable;
  recovery_code: RecoveryCodeTable;
  passkey: PasskeyTable;
  passkey_challenge: PasskeyChallengeTable;
  identity_provider: IdentityProviderTable;
  identity: IdentityTable;
  provider_attempt: ProviderAttemptTable;
  private_key: PrivateKeyTable;
  github_app: GithubAppTable;
  webhook_delivery: WebhookDeliveryTable;
  project: ProjectTable;
  environment: EnvironmentTable;
  server: ServerTable;
  log_drain_resource: LogDrainResourceTable;
  log_drain_position: LogDrainPositionTable;
  destination: DestinationTable;
  resource: ResourceTable;
  application_destination: ApplicationDestinationTable;
  removed_resource: RemovedResourceTable;
  resource_change: ResourceChangeTable;
  resource_count: ResourceCountTable;
  certificate_problem: CertificateProblemTable;
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
