import { DomainError, invalid } from "@berth/core";
import { type ApplicationSettings, dataProblems, replicasMost, scalesByRequests } from "@berth/core/application";
import type { ApplicationRecord, ServerRecord, Stores } from "@berth/core/ports";
import { ENGINES } from "@berth/core/server";
import { isServerData } from "@berth/core/storage";
import {
  requireBuildPack,
  requireContainerPowers,
  requireLeader,
  requirePlacement,
  requireReachableSource,
  requireReplicas,
  requireRequestCounts,
} from "./application-support.ts";
import type { UseCaseContext } from "./context.ts";

/**
 * @throws DomainError `engine.unsupported`, `request.invalid`, `resource.state` if one of its servers cannot run it,
 * `cluster.no_leader` if one cannot scale it now
 */
export async function requireOnEachServer(
  context: UseCaseContext,
  current: ApplicationRecord,
  next: ApplicationSettings,
) {
  const { stores } = context;
  const before = current.settings;
  const most = replicasMost(next);
  const isNew = {
    source: next.git_repository !== before.git_repository,
    options: next.custom_docker_run_options !== before.custom_docker_run_options,
    buildPack: next.build_pack !== before.build_pack,
    replicas: most !== replicasMost(before),
    placement: next.swarm_placement_constraints !== before.swarm_placement_constraints,
    requests: scalesByRequests(next) && !scalesByRequests(before),
    name: next.custom_internal_name !== before.custom_internal_name,
  };
  if (!Object.values(isNew).includes(true)) return;
  const servers = await serversOf(stores, current);
  if (servers.length > 1) await requireShareable(stores, { ...current, settings: next });
  for (const server of servers) {
    if (isNew.source) requireReachableSource(context.scope, next.git_repository, server.ip);
    if (isNew.options && next.custom_docker_run_options)
      await requireContainerPowers(context, next.custom_docker_run_options, server);
    if (isNew.buildPack) await requireBuildPack(context, next.build_pack, current.source, server);
    if (isNew.replicas) await requireReplicas(context, most, server);
    if (isNew.replicas && ENGINES[server.engine].isCluster) {
      const problems = dataProblems(next, await dataPathsOf(stores, current));
      if (Object.keys(problems).length > 0) throw invalid(problems);
    }
    if (isNew.replicas && current.desired_state === "running") await requireLeader(context, server);
    if (isNew.placement) await requirePlacement(context, next, server);
    if (isNew.requests) requireRequestCounts(next, server);
  }
}

/** All servers that a resource is deployed to. Only applications have several. */
export async function serversOf(
  stores: Stores,
  application: Pick<ApplicationRecord, "id" | "server_id">,
): Promise<readonly ServerRecord[]> {
  const attached = await stores.applicationDestinations.list(application.id);
  const ids = attached.length === 0 ? [application.server_id] : attached.map(({ server_id }) => server_id);
  const servers = await Promise.all(ids.map((id) => stores.servers.findById(id)));
  return servers.filter((server) => server !== undefined);
}

/** Where it mounts data that lies on its server. */
async function dataPathsOf(stores: Stores, { id }: Pick<ApplicationRecord, "id">): Promise<readonly string[]> {
  const { items } = await stores.storages.list(id);
  return items.filter(isServerData).map(({ mount_path }) => mount_path);
}

/** @throws DomainError `resource.state` if it has something that only one server can have */
export async function requireShareable(tx: Stores, { id, name, settings }: ApplicationRecord): Promise<void> {
  const paths = await dataPathsOf(tx, { id });
  if (paths.length > 0) {
    const sentence = `Application ${name} stores data in ${paths.join(", ")}, which several servers cannot share. Store it in a database or an object storage first.`;
    throw new DomainError("resource.state", sentence);
  }
  if (settings.build_pack === "dockercompose") {
    const sentence = `Application ${name} is a compose file, which runs on one server. Create an application for each of its parts.`;
    throw new DomainError("resource.state", sentence);
  }
  if (settings.custom_internal_name === null) return;
  const sentence = `Application ${name} has a container name of its own, which is reserved on one server. Clear custom_internal_name first.`;
  throw new DomainError("resource.state", sentence);
}
