import { type ResolvedEnvs, referencesIn, resolveEnvs } from "@berth/core/env";
import type { Stores } from "@berth/core/ports";

/** Variables of a resource as its containers get them, with shared variables filled in. */
export async function variablesOf(
  { envs, sharedVariables }: Pick<Stores, "envs" | "sharedVariables">,
  resourceId: number,
): Promise<ResolvedEnvs> {
  const { items } = await envs.list(resourceId);
  const references = referencesIn(items.map(({ value }) => value));
  return resolveEnvs(items, await sharedVariables.seenBy([resourceId], references));
}
