import { onDemand } from "@berth/core";
import type { Scope } from "@berth/core/team";
import { activity } from "./activity.ts";
import { applications } from "./application.ts";
import { applicationDestinations } from "./application-destination.ts";
import { attachments } from "./attachment.ts";
import { backups } from "./backup.ts";
import { cleanups } from "./cleanup.ts";
import { cloudCatalogue } from "./cloud-catalogue.ts";
import { cloudServers } from "./cloud-server.ts";
import { cloudTokens } from "./cloud-token.ts";
import { clusterNodes, clusters } from "./cluster-node.ts";
import type { ControlDeps, UseCaseContext } from "./context.ts";
import { databases } from "./database.ts";
import { databaseClients } from "./database-client.ts";
import { deploy } from "./deploy.ts";
import { deployments } from "./deployment.ts";
import { destinations } from "./destination.ts";
import { domainChecks } from "./domain-check.ts";
import { envs } from "./env.ts";
import { environments } from "./environment.ts";
import { githubApps } from "./github-app.ts";
import { identities } from "./identity.ts";
import { identityProviders } from "./identity-provider.ts";
import { instance } from "./instance.ts";
import { jobs } from "./job.ts";
import { lifecycle } from "./lifecycle.ts";
import { logs } from "./log.ts";
import { logDrains } from "./log-drain.ts";
import { members } from "./member.ts";
import { metrics } from "./metric.ts";
import { migrations } from "./migrate.ts";
import { moves } from "./move.ts";
import { notifications } from "./notification.ts";
import { passkeys } from "./passkey.ts";
import { previews } from "./preview.ts";
import { privateKeys } from "./private-key.ts";
import { projects } from "./project.ts";
import { registries } from "./registry.ts";
import { resources } from "./resource.ts";
import { restores } from "./restore.ts";
import { rollbacks } from "./rollback.ts";
import { containers } from "./running-container.ts";
import { s3Storages } from "./s3-storage.ts";
import { scheduledTasks } from "./scheduled-task.ts";
import { secondFactors } from "./second-factor.ts";
import { servers } from "./server.ts";
import { serverProxies } from "./server-proxy.ts";
import { services } from "./service.ts";
import { sessions } from "./session.ts";
import { sharedVariables } from "./shared-variable.ts";
import { signInSettings } from "./sign-in-setting.ts";
import { storages } from "./storage.ts";
import { tags } from "./tag.ts";
import { teams } from "./team.ts";
import { terminals } from "./terminal.ts";
import { tokens } from "./token.ts";

export type { Download } from "./backup-download.ts";
export type { ControlDeps, ControlEngine } from "./context.ts";
export type { FollowedEvent } from "./deployment.ts";
export type { FollowedLine } from "./log.ts";
export type { OpenedSession, SignInDeps, Visitor } from "./session-open.ts";
export { type SignIns, signIns } from "./sign-in.ts";
export { signInTries } from "./sign-in-tries.ts";
export { type ReceivedWebhook, unsigned, type Webhooks, webhooks } from "./webhook.ts";

/** All use cases. They are created once with their dependencies, and then used in the scope of each caller. */
export function control(deps: ControlDeps) {
  return (scope: Scope): Control => useCases({ ...deps, scope, stores: deps.stores(scope) });
}

const USE_CASES = {
  instance,
  activity,
  teams,
  members,
  tokens,
  sessions,
  identities,
  identityProviders,
  signInSettings,
  secondFactors,
  passkeys,
  previews,
  privateKeys,
  githubApps,
  projects,
  environments,
  servers,
  cleanups,
  serverProxies,
  logDrains,
  clusterNodes,
  clusters,
  applicationDestinations,
  destinations,
  jobs,
  resources,
  applications,
  databases,
  attachments,
  databaseClients,
  services,
  backups,
  restores,
  s3Storages,
  registries,
  envs,
  sharedVariables,
  storages,
  metrics,
  scheduledTasks,
  tags,
  lifecycle,
  moves,
  migrations,
  deploy,
  deployments,
  rollbacks,
  logs,
  containers,
  domainChecks,
  terminals,
  cloudTokens,
  notifications,
  cloudServers,
  cloudCatalogue,
};

/** An interface, so that declarations of what uses it name it instead of repeating it. */
export interface Control extends UseCases {}
type UseCases = { readonly [Name in keyof typeof USE_CASES]: ReturnType<(typeof USE_CASES)[Name]> };

const useCases = onDemand<UseCaseContext, UseCases>(USE_CASES);

export type { SharedOwnerRef } from "./shared-variable.ts";
