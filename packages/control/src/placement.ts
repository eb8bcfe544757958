import { DomainError, invalid, notFound } from "@berth/core";
import type { DestinationRecord, EnvironmentRecord, ServerRecord, Stores } from "@berth/core/ports";
import { findProject } from "./project.ts";
import { findServer, requireStaying } from "./server.ts";

/** The place of a new resource, as requested. */
export interface WantedPlace {
  readonly project_uuid: string;
  readonly environment_name?: string | null | undefined;
  readonly environment_uuid?: string | null | undefined;
  readonly server_uuid: string;
  readonly destination_uuid?: string | null | undefined;
}

export interface Place {
  readonly environment: EnvironmentRecord;
  readonly server: ServerRecord;
  readonly destination: DestinationRecord;
}

/**
 * @param unknownEnvironment The error if the project has no such environment.
 * @throws DomainError `resource.not_found`, `request.invalid`, `resource.state`, `destination.missing`,
 * `destination.ambiguous`
 */
export async function resolvePlace(
  stores: Stores,
  wanted: WantedPlace,
  unknownEnvironment = () => notFound("Environment"),
): Promise<Place> {
  const names = [wanted.environment_name, wanted.environment_uuid].map((name) => name?.trim()).filter(Boolean);
  if (names.length === 0) {
    throw invalid({ environment_name: [ENVIRONMENT_NEEDED], environment_uuid: [ENVIRONMENT_NEEDED] });
  }
  const project = await findProject(stores, wanted.project_uuid);
  const environment = await firstEnvironment(stores, project.id, names);
  if (environment === undefined) throw unknownEnvironment();
  const server = await findServer(stores, wanted.server_uuid);
  requireStaying(server);
  if (server.settings.is_build_server) {
    throw invalid({ server_uuid: ["This is a build server and cannot run resources. Choose another server."] });
  }
  const { items: destinations } = await stores.destinations.list({ server_id: server.id });
  const destination = chooseDestination(destinations, wanted.destination_uuid);
  return { environment, server, destination };
}

const ENVIRONMENT_NEEDED = "You need to provide at least one of environment_name or environment_uuid.";

/** Searches by name first, then by uuid. */
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
