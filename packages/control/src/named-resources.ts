import type { NamedResource } from "@berth/core/ports";
import { RESOURCE_KINDS } from "@berth/core/resource";

/** One more than a message names, so that it can say that there are others. */
export const NAMED_TAKE = 4;

/** The first ones as a message names them: `Application shop, Database db`. */
export function namedResources(found: readonly NamedResource[]): string {
  const names = found.slice(0, NAMED_TAKE - 1).map(({ kind, name }) => `${RESOURCE_KINDS[kind].title} ${name}`);
  return [...names, ...(found.length >= NAMED_TAKE ? ["others"] : [])].join(", ");
}

/** The end of a sentence: `: Application shop.`, or `.` where all of them have left meanwhile. */
export const namedAfter = (found: readonly NamedResource[]): string =>
  found.length === 0 ? "." : `: ${namedResources(found)}.`;
