import type { ResourceRecord, Stores } from "@berth/core/ports";
import { RESOURCE_KINDS } from "@berth/core/resource";

type Named = Pick<ResourceRecord, "kind" | "name">;

/** One more than a message names, so that it can say that there are others. */
export const NAMED_TAKE = 4;

/** The first ones as a message names them: `Application shop, Database db`. */
export function namedResources(found: readonly Named[]): string {
  const names = found.slice(0, NAMED_TAKE - 1).map(({ kind, name }) => `${RESOURCE_KINDS[kind].title} ${name}`);
  return [...names, ...(found.length >= NAMED_TAKE ? ["others"] : [])].join(", ");
}

type Place = NonNullable<Parameters<Stores["resources"]["list"]>[0]>;

/** The end of a sentence that names what stays in these places: `: Application shop.`, or `.` if nothing is known. */
export async function namedStaying(
  { resources }: Pick<Stores, "resources">,
  places: readonly Place[],
): Promise<string> {
  const found: Named[] = [];
  for (const place of places) {
    if (found.length >= NAMED_TAKE) break;
    const { items } = await resources.list(place, { take: NAMED_TAKE });
    found.push(...items.filter(({ removing_at }) => removing_at === null));
  }
  return found.length === 0 ? "." : `: ${namedResources(found)}.`;
}
