import { applications } from "./application.ts";
import { cloudTokens } from "./cloud-token.ts";
import { clusterNodes, clusters } from "./cluster-node.ts";
import { databases } from "./database.ts";
import { deploy, deployments } from "./deployment.ts";
import { destinations } from "./destination.ts";
import { events } from "./event.ts";
import { githubApps } from "./github-app.ts";
import { health } from "./health.ts";
import { hetzner } from "./hetzner.ts";
import { identityProviders } from "./identity-provider.ts";
import { instance, settings } from "./instance.ts";
import { jobs } from "./job.ts";
import { logDrains } from "./log-drain.ts";
import { notifications } from "./notification.ts";
import { privateKeys } from "./private-key.ts";
import { projects } from "./project.ts";
import { registries } from "./registry.ts";
import { resources } from "./resource.ts";
import { rollbacks } from "./rollback.ts";
import { s3Storages } from "./s3-storage.ts";
import { servers } from "./server.ts";
import { serverProxies } from "./server-proxy.ts";
import { services } from "./service.ts";
import { auth } from "./session.ts";
import { sharedVariables } from "./shared-variable.ts";
import { tags } from "./tag.ts";
import { teams } from "./team.ts";
import { tokens } from "./token.ts";
import { router } from "./trpc.ts";
import { version } from "./version.ts";

/** Every operation of Berth, for REST and tRPC. */
export const appRouter = router({
  health,
  version,
  instance,
  settings,
  auth,
  identityProviders,
  events,
  teams,
  tokens,
  privateKeys,
  githubApps,
  projects,
  servers,
  serverProxies,
  logDrains,
  clusterNodes,
  clusters,
  destinations,
  jobs,
  resources,
  applications,
  services,
  databases,
  s3Storages,
  registries,
  rollbacks,
  deploy,
  deployments,
  tags,
  sharedVariables,
  cloudTokens,
  notifications,
  hetzner,
});
export type AppRouter = typeof appRouter;
