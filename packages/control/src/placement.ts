import { DomainError, invalid, notFound } from "@berth/core";
import type { DestinationRecord, EnvironmentRecord, ServerRecord, Stores } from "@berth/core/ports";
import { clusterHead, defaultServers, isOwnMachine } from "@berth/core/server";
import { findProject } from "./project.ts";
import { findServer, requireStaying } from "./server.ts";

/** The place of a new resource, as requested. */
export interface WantedPlace {
  readonly project_uuid: string;
  readonly environment_name?: string | null | undefined;
  readonly environment_uuid?: string | null | undefined;
  readonly server_uuid?: string | null | undefined;
  readonly destination_uuid?: string | null | undefined;
}

export interface ResolvedPlacement {
  readonly environment: EnvironmentRecord;
  readonly server: ServerRecord;
  readonly destination: DestinationRecord;
}

/**
 * @param needsContainers Whether engines without containers cannot run it.
 * @param unknownEnvironment What is thrown when the project has no such environment.
 * @throws DomainError `resource.not_found`, `request.invalid`, `resource.state`, `destination.missing`,
 * `destination.ambiguous`
 */
export async function resolvePlace(
  stores: Stores,
  wanted: WantedPlace,
  { needsContainers }: { readonly needsContainers: boolean },
  unknownEnvironment = () => notFound("Environment"),
): Promise<ResolvedPlacement> {
  const names = [wanted.environment_name, wanted.environment_uuid].map((name) => name?.trim()).filter(Boolean);
  if (names.length === 0) {
    throw invalid({ environment_name: [ENVIRONMENT_NEEDED], environment_uuid: [ENVIRONMENT_NEEDED] });
  }
  const project = await findProject(stores, wanted.project_uuid);
  const environment = await firstEnvironment(stores, project.id, names);
  if (environment === undefined) throw unknownEnvironment();
  const server = wanted.server_uuid
    ? await findServer(stores, wanted.server_uuid)
    : await defaultServer(stores, needsContainers);
  await requireUsable(stores, server);
  const { items: destinations } = await stores.destinations.list({ server_id: server.id });
  const destination = chooseDestination(destinations, wanted.destination_uuid);
  return { environment, server, destination };
}

/** @throws DomainError `resource.state`, `request.invalid` for a server that cannot run resources of the team */
export async function requireUsable(stores: Stores, server: ServerRecord): Promise<void> {
  requireStaying(server);
  if (server.settings.is_build_server) {
    throw invalid({ server_uuid: ["This is a build server and cannot run resources. Choose another server."] });
  }
  await requireOutsideCluster(stores, server);
}

/** @throws DomainError `request.invalid` for a node of a cluster that the team uses through another server */
async function requireOutsideCluster(stores: Stores, server: ServerRecord): Promise<void> {
  if (server.swarm_cluster === null) return;
  const manager = await stores.servers.findById(server.swarm_cluster);
  const head = manager && clusterHead(server, [manager]);
  if (head === undefined) return;
  const sentence = `Server ${server.name} is a node of the Docker Swarm of server ${head.name}, which chooses the nodes of resources. Name server ${head.name}.`;
  throw invalid({ server_uuid: [sentence] });
}

const ENVIRONMENT_NEEDED = "You need to provide at least one of environment_name or environment_uuid.";

/** @throws DomainError `request.invalid` when there is none, or when several are possible */
async function defaultServer(stores: Stores, needsContainers: boolean): Promise<ServerRecord> {
  const { items } = await stores.servers.list();
  const staying = items.filter(({ removing_at }) => removing_at === null);
  const known = staying.map((server) => ({ ...server, is_coolify_host: isOwnMachine(server) }));
  const [only, ...others] = defaultServers(known, { needsContainers });
  if (only === undefined) {
    const what = needsContainers ? "server with Docker" : "server";
    throw invalid({ server_uuid: [`No ${what} was found to run it on. Add one: POST /servers.`] });
  }
  if (others.length === 0) return only;
  const named = [only, ...others].slice(0, NAMED_SERVERS_MAX).map(({ uuid, name }) => `${uuid} (${name})`);
  const sentence = `There are ${others.length + 1} servers. Name the one to run on: ${named.join(", ")}`;
  throw invalid({ server_uuid: [`${sentence}${others.length < NAMED_SERVERS_MAX ? "." : ", ..."}`] });
}

const NAMED_SERVERS_MAX = 10;

/** The name counts first; the uuid when no environment has that name. */
async function firstEnvironment(stores: Stores, projectId: number, names: readonly (string | null | undefined)[]) {
  for (const name of names) {
    const environment = await stores.environments.find(projectId, name ?? "");
    if (environment !== undefined) return environment;
  }
  return undefined;
}

/**
 * @throws DomainError `destination.missing`, `destination.ambiguous`, `request.invalid` for a destination of another
 * server
 */
function chooseDestination(destinations: readonly DestinationRecord[], uuid: string | null | undefined) {
  const [first, ...others] = destinations;
  if (first === undefined) throw new DomainError("destination.missing", "Server has no destinations.");
  if (uuid) {
    const chosen = destinations.find((destination) => destination.uuid === uuid);
    if (chosen === undefined) throw invalid({ destination_uuid: ["The server has no such destination."] });
    return chosen;
  }
  if (others.length === 0) return first;
  const message = "Server has multiple destinations and you do not set destination_uuid.";
  throw new DomainError("destination.ambiguous", message);
}
