import { type ResolvedEnvs, referencesIn, resolveEnvs } from "@berth/core/env";
import type { Stores } from "@berth/core/ports";

/** The variables of a resource as its containers get them: with what is shared in the place of its references. */
export async function variablesOf(
  { envs, sharedVariables }: Pick<Stores, "envs" | "sharedVariables">,
  resourceId: number,
): Promise<ResolvedEnvs> {
  const { items } = await envs.list(resourceId);
  const references = referencesIn(items.map(({ value }) => value));
  return resolveEnvs(items, await sharedVariables.seenBy([resourceId], references));
}
