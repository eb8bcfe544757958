import type { ServerPart } from "@berth/core/deploy";
import { type ResolvedEnvs, referencesIn, resolveEnvs } from "@berth/core/env";
import type { Stores } from "@berth/core/ports";

/** Variables of a resource as its containers on a server get them, with shared variables filled in. */
export async function variablesOf(
  { envs, sharedVariables }: Pick<Stores, "envs" | "sharedVariables">,
  { resource_id, server_id }: ServerPart,
): Promise<ResolvedEnvs> {
  const { items } = await envs.list(resource_id);
  const references = referencesIn(items.map(({ value }) => value));
  return resolveEnvs(items, await sharedVariables.seenBy([resource_id], references, server_id));
}
