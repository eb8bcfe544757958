import { onDemand } from "@berth/core";
import type { Stores, SystemStores } from "@berth/core/ports";
import { eventActor, type Scope } from "@berth/core/team";
import { accountStore } from "./account.ts";
import { applicationStore } from "./application.ts";
import { applicationDestinationStore } from "./application-destination.ts";
import { backupStore } from "./backup.ts";
import { systemBackupStore } from "./backup-queue.ts";
import { systemCertificateProblemStore } from "./certificate-problem.ts";
import type { Database } from "./client.ts";
import { cloudTokenStore } from "./cloud-token.ts";
import { inTransaction, type StoreContext, type StoreDependencies, type TeamContext } from "./context.ts";
import { databaseStore, systemDatabaseStore } from "./database.ts";
import { namedDatabases, seenBy } from "./database-reference.ts";
import { deploymentStore } from "./deployment.ts";
import { systemDeploymentStore } from "./deployment-queue.ts";
import { destinationStore } from "./destination.ts";
import { domainStore } from "./domain.ts";
import { envStore } from "./env.ts";
import { environmentStore } from "./environment.ts";
import { eventStore, systemEventStore } from "./event.ts";
import { githubAppStore } from "./github-app.ts";
import { identityStore } from "./identity-provider.ts";
import { jobStore, systemJobStore } from "./job.ts";
import { leaseStore } from "./lease.ts";
import { logDrainStore, systemLogDrainStore } from "./log-drain.ts";
import { memberStore } from "./member.ts";
import { metricStore, systemMetricStore } from "./metric.ts";
import { notificationStore } from "./notification.ts";
import { systemNotificationStore } from "./notification-queue.ts";
import { passkeyStore } from "./passkey.ts";
import { previewStore, systemPreviewStore } from "./preview.ts";
import { privateKeyStore } from "./private-key.ts";
import { projectStore } from "./project.ts";
import { systemQueueStore } from "./queue.ts";
import { registryStore } from "./registry.ts";
import { releaseStore, systemReleaseStore } from "./release.ts";
import { resourceStore, systemResourceStore } from "./resource.ts";
import { restoreStore, systemRestoreStore } from "./restore.ts";
import { runStore } from "./run.ts";
import { s3StorageStore } from "./s3-storage.ts";
import { systemScheduleStore } from "./schedule.ts";
import { scheduledTaskStore } from "./scheduled-task.ts";
import { systemScheduledTaskStore } from "./scheduled-task-queue.ts";
import { secondFactorStore } from "./second-factor.ts";
import { serverStore, systemServerStore } from "./server.ts";
import { serviceStore, systemServiceStore } from "./service.ts";
import { settingStore } from "./setting.ts";
import { sharedVariableStore } from "./shared-variable.ts";
import { storageStore } from "./storage.ts";
import { tagStore } from "./tag.ts";
import { teamStore } from "./team.ts";
import { tokenStore } from "./token.ts";
import { systemWebhookStore } from "./webhook.ts";

/** The stores of a scope, limited to its team's rows. Events record its actor. */
export const stores =
  (database: Database, dependencies: StoreDependencies) =>
  ({ teamId, actor }: Pick<Scope, "teamId"> & Partial<Pick<Scope, "actor">>): Stores =>
    teamStores({ ...contextOf(database, dependencies), actor: actor && eventActor(actor), teamId });

/** The worker's stores, across teams. */
export const systemStores = (database: Database, dependencies: StoreDependencies): SystemStores =>
  allStores(contextOf(database, dependencies));

const contextOf = (database: Database, dependencies: StoreDependencies): StoreContext => ({
  ...dependencies,
  database,
  db: database.kysely,
  pending: undefined,
});

const teamStores: (context: TeamContext) => Stores = onDemand({
  transaction: (context) => (work) => inTransaction(context, (tx) => work(teamStores(tx))),
  teams: teamStore,
  members: memberStore,
  tokens: tokenStore,
  privateKeys: privateKeyStore,
  githubApps: githubAppStore,
  projects: projectStore,
  environments: environmentStore,
  servers: serverStore,
  destinations: destinationStore,
  jobs: jobStore,
  resources: resourceStore,
  applications: applicationStore,
  applicationDestinations: applicationDestinationStore,
  databases: (context) => ({
    ...databaseStore(context),
    namedBy: (resourceIds, names, serverId) => namedDatabases(context, { resourceIds, serverId }, names),
  }),
  services: serviceStore,
  backups: backupStore,
  restores: restoreStore,
  runs: runStore,
  s3Storages: s3StorageStore,
  registries: registryStore,
  domains: domainStore,
  previews: previewStore,
  envs: envStore,
  sharedVariables: (context) => ({
    ...sharedVariableStore(context),
    seenBy: (resourceIds, references, serverId) => seenBy(context, { resourceIds, serverId }, references),
  }),
  storages: storageStore,
  metrics: metricStore,
  scheduledTasks: scheduledTaskStore,
  tags: tagStore,
  deployments: deploymentStore,
  releases: releaseStore,
  events: eventStore,
  settings: settingStore,
  cloudTokens: cloudTokenStore,
  logDrains: logDrainStore,
  notifications: notificationStore,
});

function allStores(context: StoreContext): SystemStores {
  return {
    transaction: (work) => inTransaction(context, (tx) => work(allStores(tx))),
    forTeam: (teamId, actor) => teamStores({ ...context, actor, teamId }),
    accounts: accountStore(context),
    secondFactors: secondFactorStore(context),
    passkeys: passkeyStore(context),
    identities: identityStore(context),
    events: systemEventStore(context),
    deployments: systemDeploymentStore(context),
    releases: systemReleaseStore(context),
    resources: systemResourceStore(context),
    databases: systemDatabaseStore(context),
    services: systemServiceStore(context),
    schedules: systemScheduleStore(context),
    metrics: systemMetricStore(context),
    certificateProblems: systemCertificateProblemStore(context),
    logDrains: systemLogDrainStore(context),
    scheduledTasks: systemScheduledTaskStore(context),
    previews: systemPreviewStore(context),
    backups: systemBackupStore(context),
    restores: systemRestoreStore(context),
    leases: leaseStore(context),
    webhooks: systemWebhookStore(context),
    servers: systemServerStore(context),
    jobs: systemJobStore(context),
    queues: systemQueueStore(context),
    notifications: systemNotificationStore(context),
  };
}
