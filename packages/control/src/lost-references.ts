import { DomainError } from "@berth/core";
import { referencesIn, referenceText } from "@berth/core/env";
import type { EnvRecord, ResourceRecord, SeenVariable, Stores } from "@berth/core/ports";

/**
 * Changes where a resource is. Must run in a transaction, which an error reverts.
 *
 * @param change Moves it.
 * @param place Its new place, for messages: `environment staging`.
 * @param remedy Last part of the message of a refusal.
 * @throws DomainError `resource.state` if variables of it would lose what they reference, or could not reach it
 */
export async function keepingReferences(
  tx: Stores,
  resource: ResourceRecord,
  change: () => Promise<void>,
  { place, remedy, serverId }: ReferenceHolder,
): Promise<void> {
  const { items } = await tx.envs.list(resource.id);
  const before = await targetsOf(tx, resource, items);
  await change();
  const after = await targetsOf(tx, resource, items, serverId);
  const lost = items.filter(({ value }) => referencesOf(value).some((text) => before.has(text) && !after.has(text)));
  if (lost.length > 0) throw losing(resource, lost, `what ${place} does not have`, remedy);
  const broken = [...after].find(
    ([text, { problem }]) => problem !== undefined && before.get(text)?.problem === undefined,
  );
  if (broken?.[1].problem === undefined) return;
  throw new DomainError("resource.state", broken[1].problem);
}

interface ReferenceHolder {
  /** What does not have the targets that are lost, and what helps. */
  readonly place: string;
  readonly remedy: string;
  /** The server that has to reach the targets, if it is not the primary one. */
  readonly serverId?: number | undefined;
}

/** The targets of references of these variables, by their text. */
async function targetsOf(
  tx: Stores,
  { id }: ResourceRecord,
  variables: readonly EnvRecord[],
  serverId?: number,
): Promise<ReadonlyMap<string, SeenVariable>> {
  const references = referencesIn(variables.map(({ value }) => value));
  return new Map(
    (await tx.sharedVariables.seenBy([id], references, serverId)).map((seen) => [referenceText(seen), seen]),
  );
}

const referencesOf = (value: string | null): readonly string[] => referencesIn([value]).map(referenceText);

function losing({ name }: ResourceRecord, lost: readonly EnvRecord[], what: string, remedy: string): DomainError {
  const keys = [...new Set(lost.map(({ key }) => key))];
  const sentence = `Variables of ${name} reference ${what}: ${keys.join(", ")}. ${remedy}`;
  return new DomainError("resource.state", sentence, { details: { variables: keys } });
}
