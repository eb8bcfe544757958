import { isOnOwnMachine } from "@berth/core/database";
import { databaseNameIn, referencesIn } from "@berth/core/env";
import type { ResourceRecord, Stores } from "@berth/core/ports";

/**
 * Gives databases that this value names the port by which programs of the same machine reach them. Before the first
 * deployment, so that the port is open by then.
 */
export async function openLoopbackPorts(
  tx: Stores,
  { id }: Pick<ResourceRecord, "id">,
  value: string | null | undefined,
): Promise<void> {
  const names = referencesIn([value ?? null]).flatMap((reference) => databaseNameIn(reference) ?? []);
  if (names.length === 0) return;
  for (const { client, database } of await tx.databases.namedBy([id], names)) {
    if (!database.is_public && isOnOwnMachine(client, database)) await tx.databases.giveLoopbackPort(database.id);
  }
}
