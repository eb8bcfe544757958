import { invalid } from "@berth/core";
import { isContainerOf } from "@berth/core/compose";
import { composeNames, liveKeyOf } from "@berth/core/deploy";
import type { ResourceRecord, Stores } from "@berth/core/ports";

/**
 * Checks that the resource has the container, as far as known: those of an application from a compose file are known
 * after its first release.
 * @throws DomainError `request.invalid` with the existing names
 */
export async function requireTaskContainer(
  stores: Stores,
  owner: ResourceRecord,
  container: string | null | undefined,
): Promise<void> {
  if (!container) return;
  const names = await namesOf(stores, owner);
  if (names === undefined || isContainerOf(names, container)) return;
  const known =
    names.length === 1 ? `It has ${names[0]}` : `It has ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  throw invalid({ container: [`The ${owner.kind} has no container of this name. ${known}.`] });
}

/** `undefined`: unknown, or there is only one container, which has no name. */
async function namesOf(stores: Stores, owner: ResourceRecord): Promise<readonly string[] | undefined> {
  const recorded = await stores.services.containers([owner.id]);
  if (recorded.length > 0) return recorded.map(({ name }) => name);
  const live = await stores.releases.live(liveKeyOf(owner));
  return live && composeNames(live.artifact);
}
