import { DomainError, invalid, notFound } from "@berth/core";
import { parseUrlList, replicasMost } from "@berth/core/application";
import type { ApplicationRecord, DestinationRecord, ServerRecord, Stores } from "@berth/core/ports";
import type { ResourceMigrate, ResourceMigrated } from "@berth/core/resource";
import { isOnOwnMachine } from "@berth/core/server";
import { requireAbility, requireOperator } from "@berth/core/team";
import { findApplication } from "./application.ts";
import {
  requireBuildPack,
  requireContainerPowers,
  requirePlacement,
  requireReachableSource,
  requireReplicas,
  requireRequestCounts,
} from "./application-support.ts";
import { findResourceForUpdate, type UseCaseContext } from "./context.ts";
import { applicationRequest, requestDeployment } from "./deployment-request.ts";
import { findDestination } from "./destination.ts";
import { requireServable } from "./domain.ts";
import { emitResourceEvent } from "./event.ts";
import { openLoopbackPorts } from "./loopback-port.ts";
import { keepingReferences } from "./lost-references.ts";
import { requireUsable } from "./placement.ts";

/** Moves applications to other servers and destinations. */
export function migrations(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    /**
     * One that runs is deployed there, and continues to run where it was until that deployment has switched.
     *
     * @throws DomainError `resource.not_found`, `request.invalid`, `resource.state`, `engine.unsupported`,
     * `resource.already_exists` for its container's name, `queue.full`
     */
    async migrate(uuid: string, sent: ResourceMigrate): Promise<ResourceMigrated> {
      requireAbility(scope, "write");
      const application = await findApplication(stores, uuid);
      const destination = await findDestination(stores, sent.destination_uuid);
      const server = await stores.servers.findById(destination.server_id);
      if (server === undefined) throw notFound("Destination");
      await requireUsable(stores, server);
      await requireRunnable(context, application, server);
      return stores.transaction(async (tx) => {
        await findResourceForUpdate(tx, { kind: "application", uuid });
        const current = await findApplication(tx, uuid);
        requireOtherPlace(current, destination);
        await requireOneServer(tx, current);
        await requireQuiet(tx, current);
        if (server.id !== current.server_id && (sent.migrate_volumes ?? true)) await requireNoData(tx, current);
        const change = async () => {
          if (!(await tx.resources.migrate(current.id, destination.id))) throw notFound("Destination");
          const values = (await tx.envs.list(current.id)).items.map(({ value }) => value);
          await openLoopbackPorts(tx, current, values);
        };
        const place = `server ${server.name}`;
        await keepingReferences(tx, current, change, { place, remedy: "Add it there or change the variables first." });
        const payload = { server: server.name, destination: destination.name };
        await emitResourceEvent(tx, current, "resource.migrated", payload);
        const deployment_uuid = await startedThere(context, tx, current);
        return {
          message: deployment_uuid === null ? "Application migrated successfully." : "Application migration started.",
          uuid,
          destination_uuid: destination.uuid,
          async: deployment_uuid !== null,
          deployment_uuid,
          volume_jobs: [],
        };
      });
    },
  };
}

/** What a creation of the application on that server would refuse. */
export async function requireRunnable(context: UseCaseContext, application: ApplicationRecord, server: ServerRecord) {
  const { settings, source, fqdn } = application;
  requireReachableSource(context.scope, settings.git_repository, server.ip);
  await requireBuildPack(context, settings.build_pack, source, server);
  await requireReplicas(context, replicasMost(settings), server);
  await requirePlacement(context, settings, server);
  requireRequestCounts(settings, server);
  await requireContainerPowers(context, settings.custom_docker_run_options, server);
  await requireHostAccess(context, application, server);
  requireServable(context, parseUrlList(fqdn ?? "").claims, server);
}

/**
 * Folders of a server, and what a compose file asks for, were checked for the server that it leaves.
 * @throws DomainError `auth.missing_ability`, `auth.root_team_only` for Berth's own machine
 */
async function requireHostAccess(
  { scope, stores }: UseCaseContext,
  { id, server_id, settings }: ApplicationRecord,
  server: ServerRecord,
): Promise<void> {
  if (server.id === server_id || !isOnOwnMachine(server)) return;
  const { items } = await stores.storages.list(id);
  const hasFolders = items.some(({ host_path, is_directory }) => host_path !== null || is_directory);
  if (hasFolders || settings.build_pack === "dockercompose") requireOperator(scope);
}

function requireOtherPlace({ name, destination_id }: ApplicationRecord, destination: DestinationRecord): void {
  if (destination_id !== destination.id) return;
  throw invalid({ destination_uuid: [`Application ${name} is in destination ${destination.name} already.`] });
}

async function requireOneServer(tx: Stores, { id, name }: ApplicationRecord): Promise<void> {
  if ((await tx.applicationDestinations.list(id)).length === 0) return;
  const sentence = `Application ${name} is deployed to several servers. Detach the others first, or attach the new one.`;
  throw new DomainError("resource.state", sentence);
}

/** @throws DomainError `resource.state` while it is deployed or has previews, which would be left behind */
async function requireQuiet(tx: Stores, { id, name }: ApplicationRecord): Promise<void> {
  const [newest] = await tx.deployments.newestOf([id]);
  if (newest?.finished_at === null) {
    throw new DomainError("resource.state", `Application ${name} is being deployed. Wait for its end, or cancel it.`);
  }
  const { total } = await tx.previews.list(id, { take: 0 });
  if (total === 0) return;
  throw new DomainError("resource.state", `Application ${name} has previews. Close them first.`);
}

/** @throws DomainError `request.invalid` if a volume of it was mounted before */
async function requireNoData(tx: Stores, { id, name }: ApplicationRecord): Promise<void> {
  const { items } = await tx.storages.list(id);
  const paths = items.filter(({ has_volume }) => has_volume).map(({ mount_path }) => mount_path);
  if (paths.length === 0) return;
  const sentence = `Application ${name} has data in ${paths.join(", ")}, which Berth does not copy to another server. Turn this off (false) to start it with empty volumes there; its data stays where it is.`;
  throw invalid({ migrate_volumes: [sentence] });
}

/** Deploys what runs, with the commit that runs. @returns The deployment, or `null` for one that does not run. */
async function startedThere(context: UseCaseContext, tx: Stores, before: ApplicationRecord): Promise<string | null> {
  if (before.desired_state !== "running") return null;
  const application = await findApplication(tx, before.uuid);
  // Only repositories still have every commit.
  const [running] =
    before.source === "git" ? await tx.releases.builds({ resource_id: before.id, server_id: before.server_id }) : [];
  const request = applicationRequest(application, { commit: running?.commit });
  const { deployment } = await requestDeployment(context, tx, request);
  return deployment.uuid;
}
