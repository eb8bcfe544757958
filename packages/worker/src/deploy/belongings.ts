import { setImmediate as otherWork } from "node:timers/promises";
import { DomainError } from "@berth/core";
import { isForeign, namedBy, type ReleaseSpec } from "@berth/core/deploy";
import type { SystemStores } from "@berth/core/ports";
import type { ServerAdapters } from "../server-adapters.ts";

/**
 * Refuses a release that would join, mount or enter objects of another team on its server.
 * @throws DomainError `deploy.start_failed`
 */
export async function assertOwnedByTeam(
  {
    stores,
    adapters,
    teamId,
  }: { readonly stores: SystemStores; readonly adapters: ServerAdapters; readonly teamId: number },
  spec: ReleaseSpec,
): Promise<void> {
  const { engine, server } = adapters;
  // Yields to other work: parsing the compose file took long, and reading it again will.
  await otherWork();
  const named = namedBy(spec);
  const owners = named.length === 0 ? undefined : await engine.containers?.ownersOf(named);
  if (owners === undefined || owners.every((owner) => owner === undefined)) return;
  const team = stores.forTeam(teamId);
  const uuids = new Set(owners.flatMap((owner) => owner?.resourceUuid ?? []));
  const [resources, destinations] = await Promise.all([
    team.resources.ownAmong(uuids),
    team.destinations.list({ server_id: server.id }),
  ]);
  const own = {
    // A drill's resource has no record, so its own uuid is added.
    resources: new Set([...resources.keys(), spec.resourceUuid]),
    networks: new Set(destinations.items.map(({ network }) => network)),
  };
  const foreign = named.find((object, at) => isForeign(object, owners[at], own));
  if (foreign === undefined) return;
  const sentence = `The ${foreign.type} ${foreign.name} of server ${server.name} does not belong to this team. Name another one, or remove it.`;
  throw new DomainError("deploy.start_failed", sentence);
}
