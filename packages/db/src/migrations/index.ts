import type { Migration } from "kysely/migration";
import { foundation } from "./0001-foundation.ts";
import { kinds } from "./0002-kinds.ts";
import { people } from "./0003-people.ts";
import { scheduledTasks } from "./0004-scheduled-tasks.ts";
import { gitHosts } from "./0005-git-hosts.ts";
import { servers } from "./0006-servers.ts";
import { clouds } from "./0007-clouds.ts";
import { applications } from "./0008-applications.ts";
import { databases } from "./0009-databases.ts";
import { services } from "./0010-services.ts";
import { serverLinks } from "./0011-server-links.ts";
import { jobLog } from "./0012-job-log.ts";
import { volumes } from "./0013-volumes.ts";
import { metrics } from "./0014-metrics.ts";
import { rollbacks } from "./0015-rollbacks.ts";
import { cleanups } from "./0016-cleanups.ts";
import { lists } from "./0019-lists.ts";
import { schedules } from "./0021-schedules.ts";
import { taskExecutions } from "./0022-task-executions.ts";
import { backupRuns } from "./0025-backup-runs.ts";
import { restores } from "./0026-restores.ts";
import { containerRoutes } from "./0027-container-routes.ts";
import { buildServers } from "./0029-build-servers.ts";
import { proxyState } from "./0030-proxy-state.ts";
import { certificates } from "./0034-certificates.ts";
import { containerNames } from "./0036-container-names.ts";
import { registries } from "./0037-registries.ts";
import { lastingTroubles } from "./0040-lasting-troubles.ts";
import { removalAttempts } from "./0041-removal-attempts.ts";
import { removals } from "./0043-removals.ts";
import { sharedVariables } from "./0048-shared-variables.ts";
import { backupCancels } from "./0049-backup-cancels.ts";
import { removedResources } from "./0051-removed-resources.ts";
import { serverRevisions } from "./0052-server-revisions.ts";
import { resourceChanges } from "./0060-resource-changes.ts";
import { databaseReferences } from "./0080-database-references.ts";
import { signIn } from "./0090-sign-in.ts";
import { eventActors } from "./0091-event-actors.ts";
import { reopenedPreviews } from "./0110-reopened-previews.ts";
import { secondFactor } from "./0140-second-factor.ts";
import { requiredSecondFactor } from "./0141-required-second-factor.ts";
import { identityProviders } from "./0142-identity-providers.ts";
import { serverWakes } from "./0160-server-wakes.ts";
import { attemptIdentity } from "./0170-attempt-identity.ts";
import { passkeys } from "./0230-passkeys.ts";
import { deploymentActors } from "./0231-deployment-actors.ts";
import { serverTopic } from "./0240-server-topic.ts";
import { errorCodes } from "./0255-error-codes.ts";
import { notifications } from "./0261-notifications.ts";
import { engineIdentity } from "./0262-engine-identity.ts";
import { swarmNodes } from "./0265-swarm-nodes.ts";
import { scaleProblem } from "./0266-scale-problem.ts";
import { requestRates } from "./0267-request-rates.ts";
import { liveByServer } from "./0290-live-by-server.ts";
import { changesOfLeftServers } from "./0291-changes-of-left-servers.ts";
import { severalServers } from "./0292-several-servers.ts";
import { logDrains } from "./0293-log-drains.ts";
import { unchangedContainers } from "./0294-unchanged-containers.ts";
import { statusProblem } from "./0295-status-problem.ts";
import { stopReason } from "./0296-stop-reason.ts";
import { groupRoles } from "./0297-group-roles.ts";
import { jobSteps } from "./0298-job-steps.ts";
import { certificateProblems } from "./0299-certificate-problems.ts";
import type { MigrationName } from "./names.ts";

export const MIGRATIONS: Readonly<Record<MigrationName, Migration>> = {
  "0001-foundation": foundation,
  "0002-kinds": kinds,
  "0003-people": people,
  "0004-scheduled-tasks": scheduledTasks,
  "0005-git-hosts": gitHosts,
  "0006-servers": servers,
  "0007-clouds": clouds,
  "0008-applications": applications,
  "0009-databases": databases,
  "0010-services": services,
  "0011-server-links": serverLinks,
  "0012-job-log": jobLog,
  "0013-volumes": volumes,
  "0014-metrics": metrics,
  "0015-rollbacks": rollbacks,
  "0016-cleanups": cleanups,
  "0019-lists": lists,
  "0021-schedules": schedules,
  "0022-task-executions": taskExecutions,
  "0025-backup-runs": backupRuns,
  "0026-restores": restores,
  "0027-container-routes": containerRoutes,
  "0029-build-servers": buildServers,
  "0030-proxy-state": proxyState,
  "0034-certificates": certificates,
  "0036-container-names": containerNames,
  "0037-registries": registries,
  "0040-lasting-troubles": lastingTroubles,
  "0041-removal-attempts": removalAttempts,
  "0043-removals": removals,
  "0048-shared-variables": sharedVariables,
  "0049-backup-cancels": backupCancels,
  "0051-removed-resources": removedResources,
  "0052-server-revisions": serverRevisions,
  "0060-resource-changes": resourceChanges,
  "0080-database-references": databaseReferences,
  "0090-sign-in": signIn,
  "0091-event-actors": eventActors,
  "0110-reopened-previews": reopenedPreviews,
  "0140-second-factor": secondFactor,
  "0141-required-second-factor": requiredSecondFactor,
  "0142-identity-providers": identityProviders,
  "0160-server-wakes": serverWakes,
  "0170-attempt-identity": attemptIdentity,
  "0230-passkeys": passkeys,
  "0231-deployment-actors": deploymentActors,
  "0240-server-topic": serverTopic,
  "0255-error-codes": errorCodes,
  "0261-notifications": notifications,
  "0262-engine-identity": engineIdentity,
  "0265-swarm-nodes": swarmNodes,
  "0266-scale-problem": scaleProblem,
  "0267-request-rates": requestRates,
  "0290-live-by-server": liveByServer,
  "0291-changes-of-left-servers": changesOfLeftServers,
  "0292-several-servers": severalServers,
  "0293-log-drains": logDrains,
  "0294-unchanged-containers": unchangedContainers,
  "0295-status-problem": statusProblem,
  "0296-stop-reason": stopReason,
  "0297-group-roles": groupRoles,
  "0298-job-steps": jobSteps,
  "0299-certificate-problems": certificateProblems,
};
