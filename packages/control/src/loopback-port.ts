import { isOnOwnMachine } from "@berth/core/database";
import { databaseNameIn, referencesIn } from "@berth/core/env";
import type { ResourceRecord, Stores } from "@berth/core/ports";

/**
 * Assigns loopback ports to databases that these values reference. Before the first deployment, so that the ports are
 * open by then.
 * @param serverId Which of its several servers the resource is on. Default: the primary one.
 */
export async function openLoopbackPorts(
  tx: Stores,
  { id }: Pick<ResourceRecord, "id">,
  values: readonly (string | null | undefined)[],
  serverId?: number,
): Promise<void> {
  const references = referencesIn(values.map((value) => value ?? null));
  const names = new Set(references.flatMap((reference) => databaseNameIn(reference) ?? []));
  if (names.size === 0) return;
  for (const { client, database } of await tx.databases.namedBy([id], [...names], serverId)) {
    if (!database.is_public && isOnOwnMachine(client, database)) await tx.databases.giveLoopbackPort(database.id);
  }
}

/** Does the same for all variables of an environment, whose databases have changed. */
export async function openLoopbackPortsIn(
  tx: Stores,
  { environment_id }: Pick<ResourceRecord, "environment_id">,
): Promise<void> {
  const variables = Map.groupBy(await tx.envs.namingDatabases(environment_id), ({ resource }) => resource.id);
  for (const [id, own] of variables) {
    const values = own.map(({ value }) => value);
    await openLoopbackPorts(tx, { id }, values);
  }
}
